// Tests what the pages and the API show about tests: a job's failed tests, and the flaky, failing and slow tests of projects.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flakyTests } from '../../../src/features/job-insides/pages/test-figures.ts'
import { failedTestsIn } from '../../../src/features/job-insides/failed-tests.ts'
import { flakyFixes } from '../../../src/features/job-insides/pages/flaky-fixes.ts'
import { openHouse, type House } from '../../console/house.ts'
import { reportOf } from '../../../src/features/job-insides/pages/job-tests.ts'
import { testsOf } from './stored-tests.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import { withTests } from '../../console/read-insides.ts'
import type { FixSource } from '../../../src/console/overview/overview-shape.ts'
import type { JobCard } from '../../../src/console/pipelines/job-card.ts'
import type { PagesParts } from '../../../src/console/ports.ts'
import type { JobInside } from '../../../src/model/inside.ts'

let house: House
let job: string
let project: string
beforeAll(async () => {
  house = await openHouse({
    PIPESPAN_TESTS: 'true',
    PIPESPAN_PLATFORM_URL: 'http://127.0.0.1:9',
    PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
    PIPESPAN_PAGES_HIDE: 'acme/vault/**',
  })
  await house.live(['family', 'retried'])
  job = await withTests(house.daemon.store)
  const tests = testsOf(house.daemon.store)
  const [known] = await tests.figures('failed', { since: 0, limit: 1 })
  project = known?.project ?? ''
  for (const jobId of [9_000, 9_001]) {
    await tests.record({
      ...{ instance: 'https://git.example.com', projectId: 301, project: 'acme/vault/keys', job: 'unit', jobId },
      ...{ pipelineId: 5, revision: 'def', flaky: new Map(), endedAt: Date.now(), lostMs: 900_000 },
      ...(jobId === 9_000
        ? { failed: new Map([[7, { suite: '', name: 'opens the vault' }]]), passed: new Set<number>() }
        : { failed: new Map(), passed: new Set([7]) }),
      slowest: [{ hash: 7, suite: '', name: 'opens the vault', seconds: 900 }],
    })
  }
})
afterAll(async () => house.close())

/** Returns the pages' read access without a scope. */
const parts = (): Pick<PagesParts, 'on'> => ({ on: make => house.daemon.store.on(sql => make(unbounded(sql))) })

const read = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
const ask = async (path: string): Promise<unknown> => (await fetch(`${house.url}/api${path}`)).json()

describe("a job's tests on the pages", () => {
  it("shows failed tests on their job's page, with messages and stack traces", async () => {
    const page = await read(job)
    expect(page).toMatch(/<strong>12 tests<\/strong> in\s+42 s: 1 failed, 1 ended in an error, 1 skipped/)
    expect(page).toContain('adds &lt;b&gt;up&lt;/b&gt;')
    expect(page).toContain('shop.CartTest · cart.ts:12 · 20 ms · AssertionError')
    expect(page).toContain('<pre>expected 3 to be &lt;4&gt;</pre>')
    expect(page).toContain('<pre>Error: no\n  at cart.ts:12\n  at all</pre>')
    expect(page).toContain('The report does not say why.')
    expect(page).toContain('4 more failures left out.')
    expect(page).toContain('The report could not be read completely: The report ends early.')
    expect(page).toContain('failed and passed on the same revision')
  })

  it("returns a job's tests from the API", async () => {
    expect(await ask(job)).toMatchObject({
      tests: {
        totals: { total: 12 },
        failures: [
          { name: 'adds <b>up</b>', line: 12 },
          { name: 'setup', result: 'error' },
        ],
        flaky: [{ within: 'revision' }],
        left: 4,
      },
    })
  })

  it('states the number of failed tests in the verdicts on a job and its pipeline', async () => {
    const sentence = 'failed: 2 of 12 tests'
    expect(await ask(job)).toMatchObject({ verdict: { outcome: 'failed', sentence } })
    expect(await read(job)).toContain('<p class="verdict">Failed: 2 of 12 tests.</p>')
  })

  it('counts a failed test as known flaky only if it was flaky before the job ended', async () => {
    const tests = testsOf(house.daemon.store)
    const [flaky] = await tests.figures('flaky', { project, since: 0, limit: 1 })
    const { job: name = '', instance = '', projectId = 0 } = flaky ?? {}
    const report = {
      totals: { total: 12, passed: 10, failed: 2, errored: 0, skipped: 0, flaky: 0, seconds: 1 },
      failures: [
        { suite: 'shop.CartTest', name: 'adds <b>up</b>', result: 'fail' },
        { suite: 'shop.CartTest', name: 'takes away', result: 'fail' },
      ],
    } as const
    const { totals, failures } = report
    const dropped = { cases: 0, suites: 0, failures: 0 }
    const owned = { id: 1, kind: 'job', start: 0, end: 1 } as const
    const views = {
      tests: async () => [{ job: owned, tests: { summary: { totals, dropped, suiteSeconds: [] }, failures } }],
    } as unknown as PagesParts['views']
    const count = async (owner: Partial<JobCard>) =>
      failedTestsIn(
        { ...parts(), views },
        { instance, pipelineId: 1 },
        { instance, projectId, project },
        {
          ...{
            id: 1,
            kind: 'job',
            name: `${name} 2/5`,
            stage: '',
            status: 'failed',
            allowFailure: false,
            retried: false,
          },
          ...{ finishedAt: Date.now() + 1, ...owner },
        },
      )
    expect(await count({})).toEqual({ total: 12, failed: 2, flaky: 1 })
    expect(await count({ finishedAt: flaky?.lastAt })).toEqual({ total: 12, failed: 2, flaky: 0 })
    expect(await count({ name: 'another' })).toEqual({ total: 12, failed: 2, flaky: 0 })
    // The jobs of a matrix are remembered under their whole names.
    const matrix = 'unit: [linux, 24]'
    const [failed, passed] = [new Map([[1, { suite: 'shop.CartTest', name: 'takes away' }]]), new Set([1])]
    const remembered = { instance, projectId, project, job: matrix, pipelineId: 1, revision: 'abc', lostMs: 1 }
    const none = { flaky: new Map(), slowest: [], endedAt: 1 }
    await tests.record({ ...remembered, ...none, jobId: 8_000, failed, passed: new Set() })
    await tests.record({ ...remembered, ...none, jobId: 8_001, failed: new Map(), passed })
    expect(await count({ name: matrix, finishedAt: 2 })).toEqual({ total: 12, failed: 2, flaky: 1 })
    expect(await count({ status: 'success' })).toBeUndefined()
  })

  it("shows the tests of a job's last report", () => {
    const owner = { id: 1, kind: 'job', start: 0, end: 1 } as const
    const totals = { total: 1, passed: 1, failed: 0, errored: 0, skipped: 0, flaky: 0, seconds: 1 }
    const summary = (total: number) => ({
      ...{ totals: { ...totals, total }, dropped: { cases: 0, suites: 0, failures: 0 }, suiteSeconds: [] },
    })
    const failure = (name: string) => ({ suite: '', name, result: 'fail' }) as const
    const insides: JobInside[] = [
      { job: owner, tests: { failures: [failure('of a part whose beginning is not read')] } },
      { job: owner, tests: { summary: summary(1), failures: [failure('old')] } },
      { job: owner, tests: { summary: summary(2), failures: [failure('a')] } },
      { job: owner, tests: { failures: [failure('b')] } },
    ]
    expect(reportOf(insides)).toMatchObject({ totals: { total: 2 }, failures: [{ name: 'a' }, { name: 'b' }] })
    expect(reportOf(insides.slice(0, 1))).toBeUndefined()
  })
})

describe('pages about tests that cost time', () => {
  it('lists flaky tests with their cost and their job', async () => {
    const page = await read('/tests')
    expect(page).toMatch(/<strong>1 flaky test<\/strong>; the jobs\s+that\s+failed with them took <strong>1 m 30 s/)
    expect(page).toContain('adds &lt;b&gt;up&lt;/b&gt;')
    expect(page).toContain(project)
    expect(page).toContain(`href="${job.replace(/\d+$/, id => String(Number(id) + 1))}"`)
    expect(page).toMatch(/<a href="\/tests" +aria-current="page"/)
    expect(page).toContain('Most time lost first')
    expect(await read('/tests?sort=-last')).not.toContain('Most time lost first')
  })

  it('excludes hidden projects from the sums of flaky tests', async () => {
    expect(await ask('/tests')).toMatchObject({ total: { tests: 1, jobs: 1, lostMs: 90_000 } })
    expect(await ask('/tests?project=acme/vault/')).toMatchObject({ total: { tests: 0, jobs: 0, lostMs: 0 } })
  })

  it("adds each job's most expensive flaky test to the list of what to fix first", async () => {
    const of = { instance: 'https://git.example.com', projectId: 3, project: 'acme/shop', job: 'unit' }
    const flaky = (name: string, costMs: number) => ({
      ...{ ...of, suite: 'Cart', name, times: 3, lastAt: 0, jobId: 11, pipelineId: 7, costMs },
    })
    const figures = async () => [flaky('takes away', 1_200), flaky('adds up', 1_800)]
    const { read: find } = flakyFixes.value as FixSource
    expect(await find({ on: () => ({ figures }) } as unknown as PagesParts, 0, 1)).toEqual([
      {
        ...{ subject: 'adds up', project: 'acme/shop', weekMs: 1_800 },
        of: { instance: of.instance, projectId: 3, job: 'unit' },
        why: 'Flaky on 3 revisions; the time is the duration of the jobs (unit) that failed with it. 1 more test of this job is flaky.',
        path: '/pipelines/3/7/jobs/11',
      },
    ])
    // With flaky tests of two platforms, the links name the platform.
    const onprem = { ...flaky('adds up', 900), instance: 'https://git.example.net' }
    const both = { on: () => ({ figures: async () => [flaky('adds up', 1_800), onprem] }) } as unknown as PagesParts
    expect((await find(both, 0, 1)).map(fix => new URLSearchParams(fix.path.split('?')[1]).get('instance'))).toEqual([
      of.instance,
      onprem.instance,
    ])
  })

  it('lists failing and slow tests', async () => {
    const page = await read('/tests/costly?span=7d')
    expect(page).toContain('walks all the way')
    expect(page).toMatch(/9\.0 s[^]*4\.5 s/)
  })

  it.each([
    ['30d', 30],
    ['7d', 7],
    ['24h', 7],
  ] as const)('counts flaky tests by whole days, including today: %s', async (span, days) => {
    const day = 86_400_000
    const daysLater = async (later: number): Promise<readonly object[]> =>
      (await flakyTests(parts(), {}, { span, project, limit: 1 }, Date.now() + later * day)).days
    expect(await daysLater(days - 1)).toMatchObject([{ retried: 1 }])
    expect(await daysLater(days)).toEqual([])
  })

  it('filters tests by project', async () => {
    expect(await read(`/tests?${new URLSearchParams({ project }).toString()}`)).toContain('1 flaky test')
    expect(await read('/tests?project=acme/none')).toContain('in acme/none')
    expect(await ask(`/tests?${new URLSearchParams({ project, span: '24h' }).toString()}`)).toMatchObject({
      ...{ span: '24h', project, flaky: [{ times: 1, costMs: 90_000, suite: 'shop.CartTest' }] },
    })
    expect(await ask('/tests/costly?limit=1')).toMatchObject({
      failed: [{ times: 1, costMs: 90_000 }],
      slow: [{ times: 2, costMs: 9_000, name: 'walks all the way' }],
    })
  })

  it.each(['/tests', '/tests/costly', '/tests?project=acme/vault/keys', '/tests/costly?project=acme/vault/keys'])(
    'shows no tests of a hidden project: %s',
    async path => {
      expect(await read(path)).not.toContain('opens the vault')
      expect(JSON.stringify(await ask(path))).not.toContain('opens the vault')
    },
  )

  it('explains how to enable test reports if none are read', async () => {
    const plain = await openHouse()
    try {
      for (const path of ['/tests', '/tests/costly']) {
        expect(await (await fetch(plain.url + path)).text()).toContain('PIPESPAN_TESTS=true')
      }
    } finally {
      await plain.close()
    }
  })
})
