// What the demo plants in its past is found, as what it is.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createJudge } from '../../src/regressions/judge-loop.ts'
import { openHouse, until, type House } from '../pages/house.ts'
import { PlatformState } from '../../src/demo/platform/state.ts'
import { playPast } from '../../src/demo/platform/past.ts'
import { silentLog } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { usualRule } from '../../src/regressions/rule.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(async () => house.close())

it('the past of the demo has one regression, with its cause', async () => {
  const past = playPast({ state: new PlatformState(), instance: 'https://git.brightwater.example', until: Date.now() })
  expect(past).toHaveLength(36)
  await house.deliver(past)
  const { views, repositories, runs } = house.daemon.store
  await until(async () => (await runs.count()).open === 0)
  while ((await views.trends.takeIn(100)) > 0);
  const judge = createJudge({
    ...{ views, regressions: repositories.regressions, rule: usualRule, readsSections: 'none' as const },
    lease: { isMine: async () => true, release: async () => undefined },
    ...{ clock: systemClock, log: silentLog() },
  })
  await judge.judgeAll()
  const [found, ...more] = await repositories.regressions.all()
  expect(more).toEqual([])
  expect(found).toMatchObject({ kind: 'slower', job: 'aggregate', branch: 'default' })
  expect(found?.first.pipelineId).toBe(past.at(-8)?.pipelineId)
  expect(found?.cause).toMatch(/^Since then it runs on instance runners; before mostly on group runners\. /)
})
