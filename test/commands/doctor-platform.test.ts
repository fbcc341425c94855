// Tests what the doctor reports about the platform: the permissions of the token, the webhooks, the clock, the API budget, and refused requests.
import { expect, it } from 'vitest'
import { doctorWorld, failure, signingToken } from './doctor-world.ts'
import { event, job, rules, t0 } from '../flow/world.ts'
import { hooksOf } from '../support/rest-hooks.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { restFaults, restJson } from '../support/rest-faults.ts'

const world = doctorWorld()

it('checks which data a job token can read, because a job token has no user', async () => {
  world.env.PIPESPAN_PLATFORM_TOKEN_TYPE = 'job'
  world.answering(/^\/user$/, () => restFaults.wrongToken())
  const { code, reported } = await world.examined()
  expect([code, reported]).toEqual([0, []])
  expect(
    world.platform.asked.filter(({ path: asked, headers }) => asked === '/user' && 'job-token' in headers),
  ).toEqual([])
  world.answering(/pipelines$/, () => restFaults.wrongToken())
  expect((await world.examined()).reported).toContainEqual(
    expect.objectContaining({ check: 'platform', level: 'failure' }),
  )
})

it('checks which data a token can read if it may not read the user that it belongs to', async () => {
  world.answering(/^\/user$/, () => restFaults.missingScope())
  expect(await world.examined()).toEqual({ code: 0, reported: [] })
})

it('reports a platform that rejects the token', async () => {
  world.answering(/./, restFaults.wrongToken)
  const { code, reported } = await world.examined()
  expect(code).toBe(2)
  expect(reported[0]).toMatchObject(
    failure(
      'platform',
      'Check PIPESPAN_PLATFORM_TOKEN and PIPESPAN_PLATFORM_TOKEN_TYPE: the token may have expired or been revoked.',
    ),
  )
})

it("checks the token by requesting lists if the platform does not reveal the token's user", async () => {
  world.answering(/^\/user$/, () => restFaults.notFound('Not Found'))
  expect(await world.examined()).toEqual({ code: 0, reported: [] })
  world.answering(/\/pipelines$/, restFaults.missingScope)
  expect((await world.examined()).reported).toMatchObject([{ check: 'platform', level: 'failure' }])
})

it("recognises the daemon's hook even if parts of its URL are masked", async () => {
  const masked = { ...world.hook, url: 'https://pipespan.example.com/{path}', masked: ['path'] }
  hooksOf(world.platform).hooks.splice(0, Infinity, masked)
  const { reported } = await world.examined()
  expect(reported.filter(({ check }) => check === 'hooks')).toEqual([])
})

it.each([
  [true, false, {}, 'warning', 'no signing token: its deliveries are accepted by their token alone'],
  [
    true,
    false,
    { PIPESPAN_WEBHOOK_REQUIRE_SIGNATURE: 'true' },
    'failure',
    'no signing token: its deliveries are refused',
  ],
  [
    ...([false, true, {}, 'warning'] as const),
    'no secret token: the daemon cannot reject forged deliveries before it reads their bodies',
  ],
  [false, false, {}, 'failure', 'no secret token and no signing token: its deliveries are refused'],
  [false, undefined, {}, 'failure', 'no secret token: its deliveries are refused'],
])(
  'reports a secret that a hook lacks although the daemon has it (hook has a token: %j, a signing token: %j, other settings: %j)',
  async (token, signing, more, level, what) => {
    Object.assign(world.env, { PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken, ...more })
    const present = { token_present: token, signing_token_present: signing }
    world.answering(/\/hooks$/, () =>
      restJson([{ id: 17, url: world.hook.url, pipeline_events: true, job_events: true, ...present }]),
    )
    expect((await world.examined()).reported).toEqual([
      { check: 'hooks', level, what: `Hook 17 of 301 has ${what}.`, remedy: 'Set it with `pipespan hooks ensure`.' },
    ])
  },
)

it("reports that the daemon's and the platform's clocks differ", async () => {
  world.clockOffset = -240_000
  const began = Date.now()
  const { code, reported } = await world.examined()
  const took = (Date.now() - began) / 1_000
  expect(code).toBe(1)
  expect(reported).toMatchObject([
    { check: 'clock', remedy: 'Synchronize both with NTP: beyond 300 s signed webhooks are refused.' },
  ])
  const off = Number(/^The platform's clock is (\d+) s behind this machine's\.$/.exec(reported[0]?.what ?? '')?.[1])
  // The doctor assumes that a request takes half of its duration to reach the platform, and the platform's time is in whole seconds. The tolerance
  // allows for both.
  expect(Math.abs(off - 240)).toBeLessThanOrEqual(2 + took / 2)
})

it('reports an API budget that the platform has paused', async () => {
  world.restartAfterTest()
  const { budgets } = world.daemon.store.repositories
  await expect.poll(async () => budgets.all()).not.toEqual([])
  const [{ account } = { account: '' }] = await budgets.all()
  await budgets.change({ account }, (_, now) => ({
    document: { account, tokens: 1, at: now, pausedUntil: now + 3_000_000 },
    result: undefined,
  }))
  const { reported } = await world.examined()
  const paused = reported.find(({ check }) => check === 'budget')
  expect(paused?.what).toMatch(/rate limit .* (2\d{3}|3000) s\.$/)
})

it('reports job logs that the platform refuses to serve', async () => {
  world.restartAfterTest()
  world.env.PIPESPAN_JOB_SECTIONS = 'failed'
  const { refusedEndpoints } = world.daemon.store.repositories
  const refused = {
    instance: world.platform.url,
    what: 'log',
    project: 3,
    path: 'acme/shop',
    times: 3,
    message: 'The token may not read them.',
  }
  await refusedEndpoints.put({ ...refused, since: await world.daemon.store.now() })
  const { reported } = await world.examined()
  expect(reported).toEqual([
    {
      check: 'jobs',
      level: 'warning',
      what: 'Job logs of acme/shop are not requested for a day: The token may not read them.',
    },
  ])
})

it('reports configured report types that no job has', async () => {
  world.restartAfterTest()
  world.env.PIPESPAN_REPORTS = 'coverage'
  const finished = async (pipelineId: number, artifactSizes: Record<string, number>): Promise<void> => {
    const jobs = [job(pipelineId, 'unit', 'success', { started: 1, finished: 50 }, { artifactSizes })]
    const observed = event('success', { finishedAt: t0 + 60_000 }, jobs, {}, pipelineId)
    const key = { instance: world.platform.url, pipelineId }
    await world.daemon.store.runs.transact(
      mergeObservations([{ ...observed, key }], 'webhook', { ...rules, settle: 0 }),
    )
    await expect
      .poll(async () => (await world.daemon.store.views.lastFinished(10)).map(({ run }) => run.key.pipelineId))
      .toContain(pipelineId)
  }
  await finished(7, { trace: 5 })
  expect((await world.examined()).reported).toMatchObject([
    {
      ...{ check: 'jobs', level: 'warning' },
      what: 'No job of the last pipeline has a report of cobertura or jacoco.',
    },
  ])
  await finished(8, { jacoco: 5 })
  expect((await world.examined()).reported).toEqual([])
})

it('requests the cross-project lists if no projects are configured', async () => {
  delete world.env.PIPESPAN_POLL_PROJECTS
  const { text } = await world.run()
  expect(text).toContain("✓ platform: The token can read its user's pipelines in all projects.")
  expect(text).toContain('✓ platform: The token can read the projects that its user is a member of.')
  world.answering(/^\/pipelines$/, () => restFaults.notFound('Not Found'))
  await world.finds({
    check: 'platform',
    level: 'failure',
    what: "The platform has no list of a user's pipelines in all projects (404 at GET /pipelines).",
    remedy: expect.stringContaining('PIPESPAN_POLL_PROJECTS') as string,
  })
  world.answering(/^\/pipelines$/, restFaults.missingScope)
  expect((await world.examined()).reported).toMatchObject([
    { check: 'platform', level: 'failure', what: expect.stringContaining('403 at GET /pipelines') as string },
  ])
  world.env.PIPESPAN_POLL_CROSS_PROJECT = 'false'
  expect((await world.run()).text).toContain('- platform: Nothing is polled: PIPESPAN_POLL_CROSS_PROJECT is off')
})
