// A test platform whose pipelines have failed jobs with logs, and jobs with every report that Pipespan can read. This file contains the platform's
// responses and the expected results.
import { gzipSync } from 'node:zlib'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, startPlatform, type Asked, type PlatformServer } from '../platform/rest/platform-server.ts'
import { isFull } from '../e2e/load.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { repeated } from '../platform/reports/junit-samples.ts'

/**
 * `pipelines` is the total, and the other numbers are per pipeline. `tested`: how many jobs, counted from the last, have a JUnit report. `reporting`:
 * how many of those also have the other reports, and spans that the job recorded itself.
 */
export const size = isFull
  ? { pipelines: 1_000, jobs: 20, failed: 2, tested: 2, reporting: 1 }
  : { pipelines: 20, jobs: 4, failed: 2, tested: 2, reporting: 1 }
/** The enrichment deadline, ms. The details of every tenth pipeline (every fifth in the short form) arrive after its export. */
export const deadline = 1_000
const late = { every: isFull ? 10 : 5, by: 2_500 }

const erase = '\r\u001b[0K'
const sections = ['prepare_executor', 'get_sources', 'step_script'] as const
const log = [
  ...sections.flatMap(name => [
    `section_start:0:${name}${erase}About ${name}`,
    'a line',
    `section_end:0:${name}${erase}`,
  ]),
  'Job succeeded',
  '',
].join('\n')

const coverage = '<?xml version="1.0"?><coverage line-rate="0.75" branch-rate="0.5"><packages/></coverage>'
const findings = [{ severity: 'minor' }, { severity: 'minor' }, { severity: 'blocker' }]
export const ownSpanPath = 'telemetry/spans.otlp.json'

/** The number of spans, records and counted results expected for one log, one test report, and the other reports of one job. */
export const found = {
  log: { spans: sections.length, records: 2 * sections.length + 1 },
  /** Three records: one for the report, one for its failed test, and one for its flaky test. */
  tests: { spans: 1, records: 3, cases: { pass: 2, fail: 1 } },
  reports: { spans: 2, records: 1, findings: { minor: 2, blocker: 1 } },
}

const reportTypes = ['metrics', 'dotenv', 'cobertura', 'codequality'] as const
/**
 * The expected number of requests of each kind: the jobs and bridges of each pipeline, the log of each failed job, and the reports and recorded spans
 * of the jobs that have some.
 */
export const requests = {
  jobs: size.pipelines,
  bridges: size.pipelines,
  log: size.pipelines * size.failed,
  report: size.pipelines * (size.tested + size.reporting * reportTypes.length),
  spans: size.pipelines * size.reporting,
}

interface Build {
  readonly id: number
  status: string
  readonly created_at: string
  readonly started_at: string
  readonly finished_at: string
}

export function eventOf(id: number): { builds: Build[]; object_attributes: { sha: string } } {
  const event = JSON.parse(pipelineEvent({ id, jobs: size.jobs, status: 'failed' })) as ReturnType<typeof eventOf>
  for (const build of event.builds.slice(0, size.failed)) build.status = 'failed'
  // Each pipeline has a different commit, so that failures in one pipeline are not compared with passing tests in another.
  event.object_attributes.sha = id.toString(16).padStart(40, '0')
  return event
}

const iso = (text: string): string => text.replace(' UTC', 'Z').replace(' ', 'T')

/** Returns the jobs of a pipeline as in the response of the platform's API. */
function listedJobs(id: number): string {
  return JSON.stringify(
    eventOf(id).builds.map((build, index) => {
      const types = [
        ...(index < size.jobs - size.tested ? [] : ['junit']),
        ...(index < size.jobs - size.reporting ? [] : [...reportTypes, 'archive']),
      ]
      return {
        ...build,
        ...{
          created_at: iso(build.created_at),
          started_at: iso(build.started_at),
          finished_at: iso(build.finished_at),
        },
        artifacts: types.map(type => ({ file_type: type, size: 900, filename: `${type}.gz`, file_format: 'gzip' })),
      }
    }),
  )
}

/** Returns the kind of a request to the platform. */
export function kindOf({ path }: Asked): keyof typeof requests | 'pipeline' | 'poll' {
  if (path.endsWith('/trace')) return 'log'
  if (path.endsWith('/artifacts')) return 'report'
  if (path.includes('/artifacts/')) return 'spans'
  if (path.endsWith('/bridges')) return 'bridges'
  if (path.endsWith('/jobs')) return 'jobs'
  return /\/pipelines\/\d+$/.test(path) ? 'pipeline' : 'poll'
}

const jobOf = ({ path }: Asked): number => Number(/jobs\/(\d+)/.exec(path)?.[1] ?? 0)
/** Every second test case of the same name is marked as a repeated run. */
let cases = 0
const tests = gzipSync(repeated.replaceAll('<testcase ', () => `<testcase attempt="${1 + (cases++ % 2)}" `))

function reportOf(asked: Asked): Buffer {
  const pipeline = Math.trunc(jobOf(asked) / 10_000)
  switch (asked.query.get('file_type')) {
    case 'metrics':
      // There are 40 names of metrics, so that a new name appears now and then, and all stay within the limit.
      return gzipSync(`size_${pipeline % 40} ${pipeline}\n`)
    case 'dotenv':
      return gzipSync(`VERSION=${pipeline}\nSECRET=x\n`)
    case 'cobertura':
      return gzipSync(coverage)
    case 'codequality':
      return gzipSync(JSON.stringify(findings))
    default:
      return tests
  }
}

/** Returns two spans whose IDs are derived from the job's ID. */
function spansOf(asked: Asked): string {
  const job = jobOf(asked)
  const { started_at: start = '' } = eventOf(Math.trunc(job / 10_000)).builds[0] ?? {}
  const nanos = (seconds: number): string => `${Date.parse(iso(start)) + seconds * 1_000}000000`
  const idOf = (ordinal: number): string => `${ordinal}${job.toString(16).padStart(15, '0')}`
  const times = { startTimeUnixNano: nanos(1), endTimeUnixNano: nanos(2) }
  const spans = [
    { traceId: 'a'.repeat(32), spanId: idOf(1), name: 'build', ...times },
    { traceId: 'a'.repeat(32), spanId: idOf(2), parentSpanId: idOf(1), name: 'compile', ...times },
  ]
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
}

export async function startInsidePlatform(): Promise<PlatformServer> {
  const json = { 'content-type': 'application/json' }
  return startPlatform((asked, response) => {
    switch (kindOf(asked)) {
      case 'log': {
        answer(200, log)(asked, response)
        return
      }
      case 'report':
        return void response.writeHead(200).end(reportOf(asked))
      case 'spans': {
        answer(200, spansOf(asked))(asked, response)
        return
      }
      case 'bridges':
      case 'poll': {
        answer(200, '[]', json)(asked, response)
        return
      }
      case 'pipeline': {
        const id = Number(/pipelines\/(\d+)/.exec(asked.path)?.[1] ?? 0)
        const { created_at: createdAt = '', finished_at: finishedAt = '' } = eventOf(id).builds[0] ?? {}
        const times = { created_at: iso(createdAt), finished_at: iso(finishedAt), updated_at: iso(finishedAt) }
        const { sha } = eventOf(id).object_attributes
        const facts = { id, iid: id, project_id: 3, ref: 'main', status: 'failed', source: 'push', sha }
        answer(200, JSON.stringify({ ...facts, ...times }), json)(asked, response)
        return
      }
      case 'jobs': {
        const id = Number(/pipelines\/(\d+)/.exec(asked.path)?.[1] ?? 0)
        const reply = (): void => answer(200, listedJobs(id), json)(asked, response)
        if (id % late.every !== 0) {
          reply()
          return
        }
        return void sleep(late.by).then(reply)
      }
    }
  })
}
