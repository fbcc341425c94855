// Tests the metrics of gitlab-ci-pipelines-exporter: which pipelines, jobs and deployments they show, and how many series there are.
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import { everything, type Scope } from '../../../src/core/store/ports/scope.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { at, event, instance, job, openWorld, rules, type World } from '../../flow/world.ts'
import { createScrape } from '../../../src/features/gcpe/feature.ts'
import { latestTests, type LatestRun } from '../../../src/features/gcpe/latest-run.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { expositionText } from '../../daemon/listeners/metrics-pages.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { telemetrySettings, type TelemetryOptions } from '../../../src/core/telemetry/settings.ts'
import { wholeMetrics, type Exposition } from '../../../src/daemon/listeners/exposition.ts'
import type { CountBehind } from '../../../src/features/gcpe/behind-counts.ts'
import type { Observation, ObservedJob, PipelineFacts } from '../../../src/model/observation.ts'
import { createGcpeFamilies } from '../../../src/features/gcpe/families.ts'
import { gcpeRunMetrics } from '../../../src/features/gcpe/table.ts'

let world: World
beforeEach(() => {
  world = openWorld()
})
afterEach(async () => world.store.close())

function scraper(
  telemetry: TelemetryOptions = {},
  { scope = everything, countBehind }: { readonly scope?: Scope; readonly countBehind?: CountBehind } = {},
): () => Promise<readonly string[]> {
  const scrape = createScrape(world.store, { settings: telemetrySettings(telemetry), scope }, countBehind)
  return async () => (await expositionText(wholeMetrics(await scrape()), 'text')).split('\n')
}

async function observe(
  id: number,
  status: string,
  facts: Partial<PipelineFacts> = {},
  jobs: ObservedJob[] = [],
): Promise<void> {
  await world.observe(event(status, { createdAt: at(id), finishedAt: at(id + 100) }, jobs, facts, id))
}

/** Returns a metric's values, by the value of one of its labels. */
function valuesOf(lines: readonly string[], metric: string, label: string): Record<string, number> {
  const own = lines.filter(line => line.startsWith(`${metric}{`))
  return Object.fromEntries(
    own.map(line => [new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? '', Number(line.split(' ').at(-1))]),
  )
}

describe('gcpe metrics of pipelines', () => {
  it("shows the newest pipeline of each ref in the gcpe metrics, with the exporter's labels and the current status", async () => {
    await observe(9, 'failed', { ref: 'main' })
    await observe(8, 'success', { ref: 'main' })
    await observe(7, 'running', {
      ref: 'v1',
      tag: true,
      source: 'web',
      coverage: 81.5,
      duration: 12,
      queuedDuration: 3,
    })
    const lines = await scraper()()
    const labels = (kind: string, ref: string, source: string): string =>
      `project="acme/shop",topics="",kind="${kind}",ref="${ref}",source="${source}",variables=""`
    expect(lines.filter(line => line.includes('pipeline_status'))).toEqual([
      expect.stringContaining('# HELP'),
      '# TYPE gitlab_ci_pipeline_status gauge',
      `gitlab_ci_pipeline_status{${labels('branch', 'main', 'push')},status="failed"} 1`,
      `gitlab_ci_pipeline_status{${labels('tag', 'v1', 'web')},status="running"} 1`,
    ])
    expect(valuesOf(lines, 'gitlab_ci_pipeline_id', 'ref')).toEqual({ main: 9, v1: 7 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_coverage', 'ref')).toEqual({ main: 0, v1: 81.5 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_duration_seconds', 'ref')).toEqual({ main: 0, v1: 12 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_queued_duration_seconds', 'ref')).toEqual({ main: 0, v1: 3 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_timestamp', 'ref')).toMatchObject({ main: at(109) / 1_000 })
  })

  it('shows merge requests by number in the gcpe metrics if all refs are kept, and no child pipelines', async () => {
    await observe(1, 'success', { ref: 'main' })
    await observe(2, 'failed', { ref: 'fix', source: 'merge_request_event', mergeRequest: { iid: 41 } })
    await observe(3, 'failed', { ref: 'main', source: 'parent_pipeline' })
    expect(valuesOf(await scraper()(), 'gitlab_ci_pipeline_id', 'ref')).toEqual({ main: 1 })
    const all = await scraper({ metricRefs: 'all' })()
    expect(valuesOf(all, 'gitlab_ci_pipeline_id', 'ref')).toEqual({ main: 1, '41': 2 })
    expect(valuesOf(all, 'gitlab_ci_pipeline_status', 'kind')).toEqual({ branch: 1, 'merge-request': 1 })
  })

  it('shows only the configured metric refs of visible projects in the gcpe metrics', async () => {
    await observe(1, 'success', { ref: 'main' })
    await observe(2, 'success', { ref: 'release/1' })
    await observe(3, 'success', { ref: 'fix' })
    const other: Observation = event('success', {}, [], { ref: 'main' }, 4)
    await world.observe({ ...other, project: { id: 4, path: 'acme/secret' } })
    const scrape = scraper(
      { metricRefs: ['release/*', 'main'] },
      { scope: { bounds: 'hidden', sees: ({ path }) => path !== 'acme/secret' } },
    )
    expect(valuesOf(await scrape(), 'gitlab_ci_pipeline_id', 'ref')).toEqual({ main: 1, 'release/1': 2 })
    expect((await scrape()).join('\n')).not.toContain('secret')
  })

  it("counts pipelines by source, once each, starting with the process's first scrape", async () => {
    await observe(1, 'success')
    const scrape = scraper()
    const runs = async (): Promise<object> => valuesOf(await scrape(), 'gitlab_ci_pipeline_run_count', 'source')
    expect(await runs()).toEqual({ push: 0 })
    await observe(2, 'running')
    await observe(3, 'success', { source: 'schedule' })
    expect(await runs()).toEqual({ push: 1, schedule: 1 })
    await observe(2, 'success')
    expect(await runs()).toEqual({ push: 1, schedule: 1 })
    expect(await scrape()).toContain('# TYPE gitlab_ci_pipeline_run_count counter')
  })

  it('counts each pipeline once if two scrapes run concurrently', async () => {
    await world.store.runs.transact(
      Array.from({ length: 1_100 }, (_, at) =>
        mergeObservations([event('success', {}, [], {}, at + 1)], 'webhook', rules),
      ).flat(),
    )
    const scrape = scraper()
    const [one, other] = await Promise.all([scrape(), scrape()])
    expect(other).toEqual(one)
    expect(valuesOf(await scrape(), 'gitlab_ci_pipeline_run_count', 'source')).toEqual({ push: 0 })
  })

  it('limits the series of the gcpe metrics per project, and keeps those of the newest pipelines', async () => {
    for (let id = 1; id <= 5; id += 1) await observe(id, 'success', { ref: `ref-${id}` })
    const lines = await scraper({ maxSeries: 2 })()
    expect(valuesOf(lines, 'gitlab_ci_pipeline_id', 'ref')).toEqual({ 'ref-5': 5, 'ref-4': 4 })
  })

  it('shows what changed since the last scrape in the gcpe metrics, and drops deleted runs', async () => {
    const scrape = scraper()
    await observe(1, 'running')
    expect(valuesOf(await scrape(), 'gitlab_ci_pipeline_status', 'status')).toEqual({ running: 1 })
    await world.pass(1_000)
    await observe(1, 'success', { detailedStatus: 'passed with warnings' })
    expect(valuesOf(await scrape(), 'gitlab_ci_pipeline_status', 'status')).toEqual({ success_with_warnings: 1 })
    await world.pass(60_000)
    await world.sent()
    await world.pass(1e9)
    await world.store.pruning.runs(Number.MAX_SAFE_INTEGER, 100, undefined)
    expect(valuesOf(await scrape(), 'gitlab_ci_pipeline_status', 'status')).toEqual({})
  })
})

describe('gcpe metrics of jobs', () => {
  it('shows the newest job of each name in the gcpe metrics, with its stage, runner, tags and failure', async () => {
    const runner = { id: 5, description: 'linux-1' }
    await observe(7, 'failed', {}, [
      job(1, 'test', 'failed', { started: 1, finished: 4 }),
      job(
        2,
        'test',
        'success',
        { started: 5, finished: 9 },
        { duration: 4, queuedDuration: 1, tags: ['a', 'b'], runner },
      ),
      job(3, 'lint', 'failed', { started: 5, finished: 9 }, { allowFailure: true, failureReason: 'script_failure' }),
      job(4, 'child', 'success', { started: 5, finished: 9 }, { kind: 'bridge' }),
    ])
    const lines = await scraper()()
    expect(valuesOf(lines, 'gitlab_ci_pipeline_job_id', 'job_name')).toEqual({ test: 2, lint: 3 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_job_status', 'status')).toEqual({ success: 1, success_with_warnings: 1 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_job_duration_seconds', 'runner_description')).toMatchObject({
      'linux-1': 4,
    })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_job_queued_duration_seconds', 'tag_list')).toMatchObject({ 'a,b': 1 })
    expect(valuesOf(lines, 'gitlab_ci_pipeline_job_timestamp', 'failure_reason')).toMatchObject({
      script_failure: at(0) / 1_000,
    })
  })

  it('counts each job that ran and is newer than the last job with its name, and limits the job series per project', async () => {
    const scrape = scraper({ maxSeries: 2 })
    const jobs = (id: number, status: string): ObservedJob[] =>
      ['a', 'b', 'c'].map((name, at) => job(id * 10 + at, name, status, { created: id }))
    await observe(1, 'success', {}, jobs(1, 'success'))
    const runs = async (): Promise<object> => valuesOf(await scrape(), 'gitlab_ci_pipeline_job_run_count', 'job_name')
    expect(await runs()).toEqual({ a: 0, b: 0 })
    await observe(2, 'success', {}, jobs(2, 'success'))
    expect(await runs()).toEqual({ a: 1, b: 1 })
    await observe(3, 'skipped', {}, jobs(3, 'skipped'))
    expect(await runs()).toEqual({ a: 1, b: 1 })
  })

  it("continues a job's count when its runner, trigger or failure changes, and starts a new count when its tags change", async () => {
    const scrape = scraper()
    const runs = async (): Promise<object> => valuesOf(await scrape(), 'gitlab_ci_pipeline_job_run_count', 'job_name')
    const counts: unknown[] = []
    for (let id = 1; id <= 9; id += 1) {
      const runner = { id, description: `runner-${id}` }
      const more = { runner, tags: ['linux', 'arm'], ...(id % 2 === 0 && { failureReason: 'script_failure' }) }
      const only = job(id, 'test', id % 2 === 0 ? 'failed' : 'success', { started: id, finished: id + 1 }, more)
      await observe(id, only.facts.status, { source: id % 3 === 0 ? 'web' : 'push' }, [only])
      counts.push(await runs())
    }
    expect(counts).toEqual(counts.map((_, at) => ({ test: at })))
    const other = job(10, 'test', 'success', { started: 10, finished: 11 }, { tags: ['windows'] })
    await observe(10, 'success', {}, [other])
    expect(await runs()).toEqual({ test: 0 })
  })
})

it('sums the tests of the newest jobs, in total and by job name', () => {
  const totals = { total: 3, passed: 2, failed: 1, errored: 0, skipped: 0, flaky: 0, seconds: 1.5 }
  const summary = { totals, suiteSeconds: [], dropped: { cases: 0, suites: 0, failures: 0 } }
  const inside = (id: number, name: string) =>
    ({ job: { id, kind: 'job', name, start: 0, end: 1 }, tests: { summary } }) as const
  const jobs = [1, 2, 3].map(id => ({ id, kind: 'job', status: 'success' }) as const)
  const run = { pipeline: { status: 'success' }, jobs } as unknown as LatestRun
  const tests = latestTests(run, [inside(1, 'unit 1/2'), inside(2, 'unit 2/2'), inside(3, 'e2e'), inside(9, 'e2e')])
  expect(tests.map(({ suite, totals: { total, failed, seconds } }) => [suite, total, failed, seconds])).toEqual([
    [undefined, 9, 3, 4.5],
    ['unit', 6, 2, 3],
    ['e2e', 3, 1, 1.5],
  ])
  expect(latestTests({ ...run, pipeline: { ...run.pipeline, status: 'running' } }, [inside(1, 'unit')])).toEqual([])
})

describe('gcpe metrics of environments', () => {
  const deployed = (id: number, status: string, job: Deployment['job'], environment = 'production'): Deployment => ({
    ...{ instance, jobId: id, project: { id: 3, path: 'acme/shop' } },
    event: observedEvent({ status, at: at(id), environment, revision: `rev${id}`, user: 'amina' }),
    job,
  })
  const span = {
    trace: { scheme: 'instance', profile: 'generic', rootPipelineId: 1 },
    pipelineId: 1,
    jobId: 1,
    kind: 'job',
  } as const
  const report = async (...deployments: Deployment[]): Promise<unknown> =>
    world.store.runs.transact([], {
      reports: reportsBy(
        deploymentReporter,
        deployments.map(report => ({ report, countIn: 0 })),
      ),
    })

  it('shows the newest deployment of each environment, and counts added deployments', async () => {
    await report(deployed(1, 'success', { status: 'success', startedAt: at(-9), finishedAt: at(1), span }))
    const scrape = scraper()
    const first = await scrape()
    expect(valuesOf(first, 'gitlab_ci_environment_deployment_duration_seconds', 'environment')).toEqual({
      production: 10,
    })
    expect(valuesOf(first, 'gitlab_ci_environment_deployment_timestamp', 'environment')).toEqual({
      production: at(-9) / 1_000,
    })
    await report(deployed(2, 'failed', undefined), deployed(3, 'running', undefined, 'staging'))
    const second = await scrape()
    expect(valuesOf(second, 'gitlab_ci_environment_deployment_job_id', 'environment')).toEqual({
      production: 2,
      staging: 3,
    })
    expect(valuesOf(second, 'gitlab_ci_environment_deployment_status', 'status')).toEqual({ failed: 1, running: 1 })
    expect(valuesOf(second, 'gitlab_ci_environment_deployment_count', 'environment')).toEqual({
      production: 1,
      staging: 1,
    })
    expect(second).toContain(
      'gitlab_ci_environment_information{project="acme/shop",environment="production",environment_id="",external_url="",kind="branch",ref="",latest_commit_short_id="",current_commit_short_id="rev2",available="true",username="amina"} 1',
    )
  })

  it('shows how far an environment is behind the newest commit of its ref that has a pipeline', async () => {
    const job = { status: 'success', startedAt: at(0), finishedAt: at(1), ref: 'main', span }
    await report(deployed(1, 'success', job))
    const asked: unknown[] = []
    const countBehind = (of: unknown): number => asked.push(of) + 3
    const scrape = scraper({}, { countBehind })
    const behind = async (what: string): Promise<object> =>
      valuesOf(await scrape(), `gitlab_ci_environment_behind_${what}`, 'environment')
    expect(await behind('commits_count')).toEqual({})
    await observe(1, 'success', { sha: 'rev1', committedAt: at(-60) })
    expect([await behind('commits_count'), await behind('duration_seconds')]).toEqual([
      { production: 0 },
      { production: 0 },
    ])
    expect(asked).toEqual([])
    await observe(2, 'success', { sha: 'rev2', committedAt: at(90) })
    expect(await behind('commits_count')).toEqual({ production: 4 })
    expect(await behind('duration_seconds')).toEqual({ production: 90 })
    expect(asked[0]).toEqual({ instance, path: 'acme/shop', projectId: 3, from: 'rev1', to: 'rev2' })
  })
})

it("keeps the exporter's counter names, and declares them as type unknown in OpenMetrics", async () => {
  const families = createGcpeFamilies(10)
  families.add(gcpeRunMetrics, { project: 'acme/shop', kind: 'branch', ref: 'main', source: 'push', runs: 3 })
  const labels = 'project="acme/shop",topics="",kind="branch",ref="main",source="push",variables=""'
  const linesOf = async (format: Exposition): Promise<string[]> =>
    (await expositionText(wholeMetrics(families.scopes()), format)).split('\n').slice(1, 3)
  const sample = `gitlab_ci_pipeline_run_count{${labels}} 3`
  expect(await linesOf('text')).toEqual(['# TYPE gitlab_ci_pipeline_run_count counter', sample])
  expect(await linesOf('openmetrics')).toEqual(['# TYPE gitlab_ci_pipeline_run_count unknown', sample])
})
