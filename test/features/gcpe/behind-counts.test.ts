// Promises about counts of commits for readers that do not wait.
import { beforeEach, describe, expect, it } from 'vitest'
import { behindCountsOf, createBehindCounts } from '../../../src/features/gcpe/behind-counts.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createBusyLimit } from '../../../src/lib/busy-limit.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createPlatformClient } from '../../../src/platform/rest/client.ts'
import { createTurns } from '../../../src/lib/turns.ts'
import { Lifecycle } from '../../../src/simulator/platform/lifecycle.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { projects, type SimProject } from '../../../src/simulator/platform/world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { setTimeout } from 'node:timers/promises'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { territoriesOf } from '../../../src/model/territory.ts'
import { Timeline } from '../../../src/simulator/platform/timeline.ts'
import type { BehindOf, CountedBehind } from '../../../src/features/deployments/count-behind.ts'
import type { TokenContext } from '../../../src/daemon/feature.ts'

const log = silentLog()

function counts(answer: (of: BehindOf) => CountedBehind | Error) {
  const asked: string[] = []
  const errors: unknown[] = []
  const clock = { at: 0, now: () => clock.at }
  const count = async (one: BehindOf & { readonly instance: string }): Promise<CountedBehind> => {
    asked.push(`${one.revision}…${one.branch}`)
    const found = await Promise.resolve(answer(one))
    if (found instanceof Error) throw found
    return found
  }
  const of = createBehindCounts(
    count,
    () => undefined,
    clock,
    error => errors.push(error),
  )
  const read = (from: string) => of({ instance: 'https://git.example.com', projectId: 3, from, to: 'main' })
  return { read, asked, errors, clock }
}
const refused: CountedBehind = { as: 'refused', what: 'HTTP 404', remedy: '' }

it('requests each pair of revisions once, one after the other, and answers with what it knows', async () => {
  const { read, asked } = counts(({ revision }) => ({ as: 'counted', commits: revision.length, isAll: true }))
  expect([read('a'), read('a'), read('bb')]).toEqual([undefined, undefined, undefined])
  await expect.poll(() => read('bb')).toBe(2)
  expect([read('a'), asked]).toEqual([1, ['a…main', 'bb…main']])
})

it('repeats a refused request after ten minutes', async () => {
  let answer: CountedBehind = refused
  const { read, asked, clock } = counts(() => answer)
  read('a')
  await expect.poll(() => asked).toHaveLength(1)
  answer = { as: 'counted', commits: 4, isAll: true }
  await Promise.resolve()
  expect([read('a'), asked.length]).toEqual([undefined, 1])
  clock.at += 10 * 60_000
  await expect.poll(() => read('a')).toBe(4)
})

describe('with a token for each group of a platform', () => {
  const [own, other] = [projects.storefront, projects.reports]
  let api: RestApi
  let shas: readonly string[]
  let behindOf: (project: SimProject, from: number) => number | undefined
  const asked = (): string[] => api.asked.map(({ path, query }) => `${path} ${query.get('ref_name')}`)
  const pair = ({ id }: SimProject, from: number): string =>
    `/projects/${id}/repository/commits ${shas[from]}..${shas[from + 1]}`

  beforeEach(async () => {
    const state = new PlatformState()
    const timeline = new Timeline(Date.now() - 86_400_000)
    const random = new Random(1)
    const lifecycle = new Lifecycle(state, timeline, random, () => undefined)
    for (const project of [own, own, own, other, other]) {
      lifecycle.create({ ...scenarios.small(random), project, ref: 'main' })
      timeline.runAll()
    }
    shas = [...state.pipelines.values()].map(({ sha }) => sha)
    api = closeAfterTest(await RestApi.start({ state, now: () => Date.now() }))
    const territories = territoriesOf(api.url, [[own.path.split('/', 2).join('/')], ['brightwater']])
    const tokens = territories.map((territory, index) => {
      const budget = createInMemoryBudget({ perMinute: 100_000 }, systemClock)
      const client = createPlatformClient({
        ...{ url: api.url, token: () => `token-${index}`, tokenType: 'private' as const, clock: systemClock, log },
        ...{ budget, concurrency: 4, userAgent: 'Pipespan/test' },
      })
      closeAfterTest(client)
      return { territory, client, config: { platform: { budget: 300 } } } as unknown as TokenContext
    })
    const counts = behindCountsOf({ tokens: () => tokens, clock: systemClock, log })
    behindOf = ({ id, path }, from) =>
      counts?.({ instance: api.url, path, projectId: id, from: shas[from]!, to: shas[from + 1]! })
  })

  it('gives up the other pairs of a token that is refused, and asks for those of another token', async () => {
    api.misbehave = ({ headers }) => (headers['private-token'] === 'token-0' ? restFaults.missingScope() : undefined)
    expect([behindOf(own, 0), behindOf(own, 1), behindOf(other, 3)]).toEqual([undefined, undefined, undefined])
    await expect.poll(asked).toEqual([pair(own, 0), pair(other, 3)])
    await expect.poll(() => behindOf(other, 3)).toBe(1)
    expect(asked()).toEqual([pair(own, 0), pair(other, 3)])
  })

  it('does not give up the place of the scrape that asks', async () => {
    const limit = createBusyLimit(createTurns(), { maxRunning: 1, maxWaiting: 4 })
    const here = { once: () => undefined }
    let isOver = false
    const first = limit.run('a', here, async () => {
      while (behindOf(own, 0) === undefined) await setTimeout(5)
      isOver = true
    })
    expect(await limit.run('a', here, async () => Promise.resolve(isOver))).toBe(true)
    await first
  })
})

it('reports an error and goes on', async () => {
  let fails = true
  const { read, errors } = counts(() => (fails ? new Error('bug') : { as: 'counted', commits: 1, isAll: true }))
  read('a')
  await expect.poll(() => errors).toHaveLength(1)
  fails = false
  await expect.poll(() => read('a')).toBe(1)
})
