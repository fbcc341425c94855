// The shipped daemon with nothing but the platform's URL and a token: it polls what the token may see, says so, and can be told not to.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { scenarios } from '../../src/simulator/platform/scenarios.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'

const hour = 3_600_000

async function open(env: Record<string, string>) {
  const state = new PlatformState()
  const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token: 'pat-1', me: 40 }))
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const timeline = new Timeline(Date.now() - hour)
  const lifecycle = new Lifecycle(state, timeline, new Random(11), () => undefined)
  const mine = lifecycle.create(scenarios.nightly(new Random(3)))
  const ofMember = lifecycle.create(scenarios.flakyRunner(new Random(3)))
  const ofOthers = lifecycle.create(scenarios.branch(new Random(3)))
  timeline.runUntil(Date.now())
  api.isMember = ({ id }) => id === ofMember.project.id
  const daemon = await Daemon.start({
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_POLL_INTERVAL: '1s',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ...env,
  })
  return { api, receiver, daemon, mine, ofMember, ofOthers }
}

it('polls the projects that the token may see, and says so at the start', async () => {
  const { receiver, daemon, mine, ofMember } = await open({})
  const pipelines = (): unknown[] => receiver.spans.flatMap(({ attributes }) => attributes['pipeline.id'] ?? [])
  await receiver.until(() => new Set(pipelines()).size >= 2)
  expect(new Set(pipelines())).toEqual(new Set([mine.id, ofMember.id]))
  const { msg } = await daemon.process.logged('polls')
  expect(msg).toBe(
    "polls the pipelines that the token's user started, in all projects, and the projects that it is a member of, with at most 180 requests a minute (PIPESPAN_POLL_PROJECTS and PIPESPAN_POLL_GROUPS name less; PIPESPAN_POLL_CROSS_PROJECT=false turns it off)",
  )
  await daemon.stop()
})

it('polls nothing if cross-project polling is off, and says so at the start', async () => {
  const { api, daemon } = await open({ PIPESPAN_POLL_CROSS_PROJECT: 'false' })
  const { msg } = await daemon.process.logged('nothing is polled')
  expect(msg).toContain('PIPESPAN_POLL_PROJECTS')
  await daemon.stop()
  expect(api.asked.map(({ path }) => path).filter(path => path === '/pipelines' || path === '/projects')).toEqual([])
})
