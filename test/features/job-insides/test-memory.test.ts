// Tests how test results are stored and compared, on both databases.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { hasHash, packHashes, type RememberedReport } from '../../../src/features/job-insides/test-memory.ts'
import { newDatabase } from '../../core/store/new-database.ts'
import { openPostgres } from '../../support/stores.ts'
import { openSqlite } from '../../support/stores.ts'
import type { TestQuestion } from '../../../src/features/job-insides/test-reads.ts'
import { testsOf } from './stored-tests.ts'
import { instance, t0 } from '../../flow/world.ts'
import { runs } from '../../full.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

interface Reported {
  readonly passed?: readonly number[]
  readonly failed?: readonly number[]
  readonly flaky?: readonly number[]
}

/** The maximum number of bytes that one project may use in these tests. */
const maxBytes = 50_000

const named = (hash: number) => [hash, { suite: 'S', name: `test ${hash}` }] as const

describe.each([
  [
    'SQLite',
    async (folder: string, now: () => number) => openSqlite(path.join(folder, 'tests.db'), { now, maxSize: 2 ** 30 }),
  ],
  ['PostgreSQL', async (_: string, now: () => number) => openPostgres(await newDatabase(), { now, maxSize: 2 ** 30 })],
] as const)('stored test results on %s', (_, open) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-tests-'))
  let now = t0
  let store: Store
  let projectId = 0
  let jobId = 0

  let tests: ReturnType<typeof testsOf>

  beforeAll(async () => {
    store = await open(folder, () => now)
    tests = testsOf(store, maxBytes)
  })
  beforeEach(() => {
    projectId += 1
  })
  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  function report(
    { passed = [], failed = [], flaky = [] }: Reported,
    more: Partial<RememberedReport> = {},
  ): RememberedReport {
    return {
      ...{ instance, projectId, project: `acme/shop-${projectId}`, job: 'unit', jobId: (jobId += 1), pipelineId: 7 },
      ...{ revision: 'abc', endedAt: now, lostMs: failed.length > 0 ? 60_000 : 0, slowest: [] },
      ...{ passed: new Set(passed), failed: new Map(failed.map(named)), flaky: new Map(flaky.map(named)) },
      ...more,
    }
  }
  const record = async (reported: Reported, more?: Partial<RememberedReport>) => tests.record(report(reported, more))
  const names = async (reported: Reported, more?: Partial<RememberedReport>) =>
    (await record(reported, more)).flaky.map(({ name }) => name)

  it('recognises a test as flaky if it failed and passed on the same code, in either order', async () => {
    expect(await names({ passed: [1, 2], failed: [3] })).toEqual([])
    expect(await names({ passed: [1, 2, 3] })).toEqual(['test 3'])
    expect(await names({ passed: [2, 3], failed: [1] })).toEqual(['test 1'])
  })

  it('counts the flaky tests found on each day', async () => {
    const day = 24 * 3_600_000
    const [first, project] = [Math.floor(now / day) * day, `acme/shop-${projectId}`]
    const since = first - 2 * day
    await record({ failed: [1, 2] }, { endedAt: since + 1 })
    await record({ passed: [1, 2], flaky: [3] }, { endedAt: since + 2 })
    await record({ flaky: [4] }, { endedAt: first, revision: 'def' })
    const days = [
      { at: since, retried: 2, repeated: 1 },
      { at: first, retried: 0, repeated: 1 },
    ]
    expect(await tests.flakyDays({ project, since })).toEqual(days)
    expect(await tests.flakyDays({ project, since: first })).toEqual(days.slice(1))
    expect(await tests.flakyDays({ project: 'acme/none', since })).toEqual([])
    expect(await tests.flakyDays({ project: new Set(['acme/none', project, 'acme/web']), since })).toEqual(days)
    expect(await tests.flakyDays({ project: new Set(), since })).toEqual([])
  })

  it('reports a flaky test once per revision', async () => {
    await record({ failed: [1] })
    expect(await names({ passed: [1] })).toEqual(['test 1'])
    expect(await names({ failed: [1] })).toEqual([])
    expect(await names({ passed: [1], flaky: [1] })).toEqual([])
    await record({ failed: [1] }, { revision: 'def' })
    expect(await names({ passed: [1] }, { revision: 'def' })).toEqual(['test 1'])
  })

  it('does not report a test as flaky if code, job or project differ, or if it never passed', async () => {
    await record({ failed: [1], passed: [2] })
    for (const more of [
      { revision: 'def' },
      { job: 'other' },
      { projectId: 9_999 },
      { instance: 'https://other.example.com' },
    ]) {
      expect(await names({ passed: [1] }, more)).toEqual([])
    }
    expect(await names({ failed: [1], passed: [2] })).toEqual([])
  })

  it('recognises a flaky test within one report', async () => {
    expect((await record({ passed: [1], flaky: [1] })).flaky).toEqual([
      { suite: 'S', name: 'test 1', within: 'report' },
    ])
  })

  it('returns the same flaky tests however often a report is read', async () => {
    await record({ failed: [1, 2] })
    const again = report({ passed: [1, 2] })
    const first = await tests.record(again)
    expect(first.flaky).toHaveLength(2)
    expect(await tests.record(again)).toEqual(first)
    const figures = await tests.figures('flaky', { project: again.project, since: 0, limit: 10 })
    expect(figures.map(({ times }) => times)).toEqual([1, 1])
  })

  it('reports a flaky test once if two reports are read concurrently', async () => {
    const found = await Promise.all([
      record({ failed: [1] }),
      record({ passed: [1] }),
      record({ passed: [1] }),
      record({ failed: [1] }),
    ])
    expect(found.flatMap(({ flaky }) => flaky)).toHaveLength(1)
  })

  it('reports the cost of a flaky test: the time of the jobs that failed with it', async () => {
    await record({ failed: [1] }, { lostMs: 40_000 })
    await record({ failed: [1] }, { lostMs: 2_000, pipelineId: 8 })
    await record({ passed: [1] }, { pipelineId: 9 })
    const of = { project: `acme/shop-${projectId}`, since: 0, limit: 10 }
    expect(await tests.figures('flaky', of)).toMatchObject([
      { name: 'test 1', costMs: 42_000, times: 1, pipelineId: 9 },
    ])
    expect(await tests.figures('failed', of)).toMatchObject([
      { name: 'test 1', costMs: 42_000, times: 2, pipelineId: 8 },
    ])
    await record({}, { slowest: [{ hash: 5, suite: 'S', name: 'slow', seconds: 0.9004 }] })
    await record({}, { slowest: [{ hash: 5, suite: 'S', name: 'slow', seconds: 1.1 }] })
    expect(await tests.figures('slow', of)).toMatchObject([{ name: 'slow', costMs: 2_000, times: 2 }])
    expect(await tests.figures('slow', { ...of, project: 'acme/other' })).toEqual([])
    expect(await tests.figures('slow', { ...of, since: now + 1 })).toEqual([])
  })

  it('counts each job that failed because of flaky tests once, however many of its tests are flaky', async () => {
    const project = `acme/shop-${projectId}`
    const time = async (more: object = {}) => tests.flakyTime({ project, since: 0, ...more })
    await record({ failed: [1, 2, 3] }, { lostMs: 40_000 })
    expect(await time()).toEqual([])
    await record({ passed: [1, 2], failed: [3] }, { lostMs: 7_000 })
    expect(await time()).toEqual([{ project, jobs: 1, lostMs: 40_000 }])
    await record({ passed: [3] })
    expect(await time()).toEqual([{ project, jobs: 2, lostMs: 47_000 }])
    const figures = await tests.figures('flaky', { project, since: 0, limit: 10 })
    expect(figures.map(({ costMs }) => costMs)).toEqual([47_000, 40_000, 40_000])
    // Two jobs with another revision: the first one fails because of a flaky test and is counted. The second one fails although no test fails in it,
    // and is not counted.
    await record({ failed: [1] }, { lostMs: 500, revision: 'def' })
    await record({ passed: [1], flaky: [4] }, { lostMs: 900, revision: 'def' })
    expect(await time()).toEqual([{ project, jobs: 3, lostMs: 47_500 }])
    expect(await time({ project: 'acme/none' })).toEqual([])
    expect(await time({ since: now + 1 })).toEqual([])
  })

  it('adds the time of each further job that fails with a flaky test only once', async () => {
    const of = { project: `acme/shop-${projectId}`, since: 0 }
    await record({ passed: [1] })
    await record({ failed: [1, 2] }, { lostMs: 1_000 })
    const again = report({ failed: [1, 2] }, { lostMs: 30_000 })
    await tests.record(again)
    await tests.record(again)
    expect(await tests.flakyTime(of)).toMatchObject([{ jobs: 2, lostMs: 31_000 }])
    expect(await tests.figures('flaky', { ...of, limit: 9 })).toMatchObject([{ name: 'test 1', costMs: 31_000 }])
    await record({ passed: [2] })
    expect(await tests.flakyTime(of)).toMatchObject([{ jobs: 2, lostMs: 31_000 }])
    expect((await tests.figures('flaky', { ...of, limit: 9 })).map(({ costMs }) => costMs)).toEqual([31_000, 31_000])
  })

  it('sums the time of the jobs that failed with flaky tests exactly, for any tests that fail and in any order', async () => {
    const outcome = fc.record({
      failed: fc.subarray([1, 2, 3, 4]),
      revision: fc.constantFrom('abc', 'def'),
      job: fc.constantFrom('unit', 'e2e'),
      lostMs: fc.integer({ min: 1, max: 1_000 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { maxLength: 12 }), async all => {
        projectId += 1
        const path = `acme/shop-${projectId}`
        for (const { failed, ...more } of all) {
          const passed = [1, 2, 3, 4].filter(test => !failed.includes(test))
          await record({ failed, passed }, { ...more, project: path, lostMs: failed.length > 0 ? more.lostMs : 0 })
        }
        const hasPassed = (test: number, one: (typeof all)[number]): boolean =>
          all.some(
            ({ failed, revision, job }) => revision === one.revision && job === one.job && !failed.includes(test),
          )
        const lost = all.filter(one => one.failed.some(test => hasPassed(test, one)))
        const [time] = await tests.flakyTime({ project: path, since: 0 })
        expect([time?.jobs ?? 0, time?.lostMs ?? 0]).toEqual([
          lost.length,
          lost.reduce((sum, { lostMs }) => sum + lostMs, 0),
        ])
      }),
      runs(100),
    )
  })

  it('names the pipeline of the latest job, even if that is a retry in an older pipeline', async () => {
    await record({ failed: [1] }, { pipelineId: 101 })
    await record({ failed: [1] }, { pipelineId: 100, revision: 'def' })
    const [found] = await tests.figures('failed', { project: `acme/shop-${projectId}`, since: 0, limit: 1 })
    expect(found).toMatchObject({ times: 2, jobId, pipelineId: 100 })
  })

  it('dates tests by the end of their job, however late the report is read', async () => {
    const endedAt = now - 5 * 24 * 3_600_000
    await record({ failed: [1] }, { endedAt: endedAt - 60_000 })
    await record({ passed: [1] }, { endedAt, slowest: [{ hash: 5, suite: 'S', name: 'slow', seconds: 1 }] })
    const of = { project: `acme/shop-${projectId}`, limit: 10 }
    const dates = async (question: TestQuestion, since: number): Promise<number[]> =>
      (await tests.figures(question, { ...of, since })).map(({ lastAt }) => lastAt)
    expect(await dates('flaky', endedAt)).toEqual([endedAt])
    expect(await dates('slow', endedAt)).toEqual([endedAt])
    expect(await dates('failed', 0)).toEqual([endedAt - 60_000])
    for (const question of ['flaky', 'failed', 'slow'] as const) expect(await dates(question, endedAt + 1)).toEqual([])
    await record({ failed: [2] }, { endedAt: now + 3_600_000 })
    expect(await dates('failed', now)).toEqual([now])
  })

  it('deletes test results after their retention period', async () => {
    await record({ failed: [1] })
    await record({ passed: [1] })
    now += 1_000
    await record({ failed: [2] })
    expect(await tests.flakyTime({ project: `acme/shop-${projectId}`, since: 0 })).toHaveLength(1)
    while ((await tests.prune(now, 2)) > 0);
    expect(await tests.flakyTime({ project: `acme/shop-${projectId}`, since: 0 })).toEqual([])
    const of = { project: `acme/shop-${projectId}`, since: 0, limit: 10 }
    expect(await tests.figures('flaky', of)).toEqual([])
    expect((await tests.figures('failed', of)).map(({ name }) => name)).toEqual(['test 2'])
  })

  it('deletes and counts the oldest test results of a project that exceeds its share, without affecting other projects', async () => {
    const kept = projectId
    await record({ failed: [7] })
    projectId += 100
    await record({ failed: [5_001] })
    await record({ passed: [5_001] })
    const large = Array.from({ length: 1_000 }, (_, n) => n * 5)
    let forgotten = 0
    for (let n = 0; n < 12; n += 1) {
      now += 1
      forgotten += (await record({ failed: [n], passed: large })).forgotten
    }
    expect(forgotten).toBeGreaterThan(0)
    const of = { since: 0, limit: 100 }
    const left = await tests.figures('failed', { ...of, project: `acme/shop-${projectId}` })
    expect(left.map(({ name }) => name)).not.toContain('test 0')
    expect(left.map(({ name }) => name)).toContain('test 11')
    expect(await tests.figures('failed', { ...of, project: `acme/shop-${kept}` })).toHaveLength(1)
    // The costs of flaky tests are kept although their results were deleted: the costs of test 5001, and of tests 0, 5 and 10, which both failed and
    // passed.
    expect(left.map(({ name }) => name)).not.toContain('test 5001')
    expect(await tests.flakyTime({ since: 0, project: `acme/shop-${projectId}` })).toMatchObject([{ jobs: 4 }])
  })
})

describe('packed set of hashes', () => {
  it('finds exactly the hashes that were added to a packed set', () => {
    const hashes = fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 48 - 1 }), { maxLength: 60 })
    fc.assert(
      fc.property(hashes, fc.integer({ min: 0, max: 2 ** 48 - 1 }), (all, other) => {
        const packed = packHashes(new Set(all))
        for (const hash of all) expect(hasHash(packed, hash)).toBe(true)
        expect(hasHash(packed, other)).toBe(all.includes(other))
        expect(packed.length).toBe(all.length * 6)
      }),
    )
  })
})
