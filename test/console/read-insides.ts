// Stores a job's sections and tests as if its log and its report had been read, for tests of the pages that show them.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { insideChunks } from '../../src/model/inside-chunks.ts'
import type { InsideJob, JobInside, Section } from '../../src/model/inside.ts'
import type { JobTests } from '../../src/model/job-tests.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

/** A section of a job. Its start and end are fractions of the job's duration. */
export type SectionPlan = Pick<Section, 'ordinal' | 'parent' | 'name' | 'title' | 'kind' | 'failed'> & {
  readonly from: number
  readonly to: number
}

export const sampleSections: readonly SectionPlan[] = [
  { ordinal: 1, name: 'prepare_executor', kind: 'runner', from: 0, to: 0.1 },
  { ordinal: 2, name: 'step_script', kind: 'runner', from: 0.1, to: 0.95, failed: true },
  { ordinal: 3, parent: 2, name: 'install', title: 'Install <b>all</b>', kind: 'custom', from: 0.15, to: 0.4 },
  { ordinal: 7, parent: 2, name: 'unit', kind: 'custom', from: 0.4, to: 0.9, failed: true },
]

/** Stores sections for the first failed job that ran. Returns the path of the job's page. */
export async function withSections(store: Store, plans: readonly SectionPlan[]): Promise<string> {
  return withInside(store, job => {
    const at = (share: number): number => job.start + share * (job.end - job.start)
    const sections = plans.map(({ from, to, ...plan }): Section => ({
      ...plan,
      ...{ clock: 'line', start: at(from), end: at(to) },
    }))
    return [{ job, ranOn: { host: 'machine-<b>7', pod: 'runner-pod-3', node: 'node-2' }, sections }]
  })
}

/**
 * Stores a test report in two parts for the first failed job that ran, and the test history of this report and of another one that passed. Returns
 * the path of the job's page.
 */
export async function withTests(store: Store): Promise<string> {
  let owner: InsideJob | undefined
  const address = await withInside(store, job => {
    owner = job
    return sampleTests.map(tests => ({ job, tests }))
  })
  const [, , projectId = '', pipelineId = '', , jobId = ''] = address.split('/')
  const run = await store.views.find(Number(projectId), Number(pipelineId))
  const { instance } = run!.run.key
  const named = [1, { suite: 'shop.CartTest', name: 'adds <b>up</b>' }] as const
  const slow = { hash: 2, suite: 'shop.SlowTest', name: 'walks all the way', seconds: 4.5 }
  const report = {
    ...{ instance, projectId: Number(projectId), project: run!.run.project.facts.path ?? '', job: owner?.name ?? '' },
    ...{ pipelineId: Number(pipelineId), revision: 'abc', flaky: new Map(), slowest: [slow] },
  }
  const failed = { passed: new Set<number>(), failed: new Map([named]), lostMs: 90_000, endedAt: Date.now() }
  const passed = { passed: new Set([1]), failed: new Map(), lostMs: 0, endedAt: Date.now() }
  const record = await recorder(store)
  await record?.({ ...report, ...failed, jobId: Number(jobId) })
  await record?.({ ...report, ...passed, jobId: Number(jobId) + 1 })
  return address
}

/** Returns the function that records test reports; undefined without the feature that stores test history. */
async function recorder(store: Store): Promise<((report: object) => Promise<unknown>) | undefined> {
  const file = path.join(import.meta.dirname, '../features/job-insides/stored-tests.ts')
  if (!existsSync(file)) return undefined
  const { testsOf } = (await import(file)) as { testsOf: (of: Store) => { record(report: object): Promise<unknown> } }
  return async report => testsOf(store).record(report)
}

const totals = { total: 12, passed: 9, failed: 1, errored: 1, skipped: 1, flaky: 1, seconds: 41.5 }
const dropped = { cases: 0, suites: 0, failures: 4 }

const sampleTests: readonly JobTests[] = [
  {
    summary: {
      totals,
      dropped,
      suiteSeconds: [41.5],
      fault: { reason: 'truncated', detail: 'The report ends early.' },
    },
    failures: [
      {
        ...{ suite: 'shop.CartTest', name: 'adds <b>up</b>', result: 'fail', file: 'cart.ts', line: 12, seconds: 0.02 },
        ...{ type: 'AssertionError', message: 'expected 3 to be <4>', stack: 'Error: no\n  at cart.ts:12\n  at all' },
      },
    ],
  },
  {
    failures: [{ suite: '', name: 'setup', result: 'error' }],
    flaky: [{ suite: 'shop.CartTest', name: 'adds <b>up</b>', within: 'revision' }],
  },
]

async function withInside(
  { views, runs }: Store,
  insidesOf: (job: InsideJob) => readonly JobInside[],
): Promise<string> {
  for (const { run } of await views.lastFinished(100)) {
    for (const chunk of await views.chunks(run.key)) {
      const job = chunk.jobs.find(({ status, start, end }) => status === 'failed' && end > start)
      if (job === undefined) continue
      const { id, kind, name, start, end } = job
      await runs.transact([
        {
          ...{ key: run.key, jobs: [] },
          decide: known => {
            const made = known && insideChunks(known.run, chunk, insidesOf({ id, kind, name, start, end }))
            if (known === undefined || made === undefined) throw new Error('the run is no longer stored')
            const pending = made.chunks.map(one => ({ chunk: one, to: [] }))
            return { run: made.run, jobs: [], timing: known.timing, pending }
          },
        },
      ])
      return `/pipelines/${run.project.facts.id}/${run.key.pipelineId}/jobs/${id}`
    }
  }
  throw new Error('none of the stored jobs failed')
}
