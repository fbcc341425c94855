// Creates the output of jobs on the simulated platform: their logs in the runner's format, with sections; their reports by artifact type (tests,
// metrics, dotenv, coverage, a security scan); and the spans that they write to their artifacts. A job whose script failed has failing tests. They
// pass when the job is retried, so they are flaky.
import type { SimJob, SimPipeline, SimReport } from './state.ts'
import { gzipSync } from 'node:zlib'
import { Random } from './random.ts'

const erase = '\r\u001b[0K'
const bold = (text: string): string => `\u001b[0K\u001b[36;1m${text}\u001b[0;m`

/** A stage of the runner: its share of the job's time, its title, and the text that it prints. */
interface Stage {
  readonly name: string
  readonly share: number
  readonly title: string
  readonly prints: readonly string[]
}

/** Returns the log of a job, or an empty string for a job that did not run. */
export function jobLog(job: SimJob): string {
  const { startedAt: start, finishedAt, status, failureReason } = job
  if (start === undefined || job.kind === 'bridge') return ''
  const took = (finishedAt ?? start) - start
  const lines: (readonly [at: number, text: string])[] = [[start, 'Running with runner 18.7.0']]
  let at = start
  let before = ''
  for (const { name, share, title, prints } of stagesOf(job)) {
    lines.push([at, `${before}section_start:${Math.floor(at / 1000)}:${name}${erase}${bold(title)}`])
    const next = at + took * share
    prints.forEach((text, index) => lines.push([at + ((next - at) * (index + 1)) / (prints.length + 1), text]))
    at = next
    before = `section_end:${Math.floor(at / 1000)}:${name}${erase}`
  }
  const isOver = status === 'success' || status === 'failed'
  const last = status === 'success' ? 'Job succeeded' : `ERROR: Job failed: ${failureReason ?? 'exit code 1'}`
  if (isOver) lines.push([at, before], [at, last])
  return lines.map(([time, text]) => `${stampOf(time)}${text}\n`).join('')
}

function stagesOf({ plan, failureReason, status }: SimJob): Stage[] {
  const failed = status === 'failed'
  if (failed && failureReason === 'runner_system_failure') {
    return [{ name: 'prepare_executor', share: 1, title: 'Preparing the "docker" executor', prints: ['no space left'] }]
  }
  const script: Stage = {
    ...{ name: 'step_script', share: 0.7, title: 'Executing "step_script" stage of the job script' },
    prints: [
      `$ make ${plan.name.split(' ')[0] ?? ''} --token=glpat-Not4RealTokenOfAnyone`,
      ...(failed ? ['make: *** [all] Error 1'] : ['done']),
    ],
  }
  const upload: Stage = {
    ...{ name: 'upload_artifacts_on_success', share: 0.05, title: 'Uploading artifacts for successful job' },
    prints: ['Uploading artifacts...'],
  }
  return [
    {
      name: 'prepare_executor',
      share: 0.1,
      title: 'Preparing the "docker" executor',
      prints: ['Using docker image', 'Running on runner-demo-project-1-concurrent-0 via ci-runner-1...'],
    },
    { name: 'get_sources', share: 0.08, title: 'Getting source from Git repository', prints: ['Fetching changes...'] },
    { name: 'restore_cache', share: 0.07, title: 'Restoring cache', prints: ['Successfully extracted cache'] },
    script,
    ...(failed ? [] : [upload]),
  ]
}

/** Returns the timestamp of a log line, such as `2026-01-21T09:47:26.583005Z 00O `. */
function stampOf(at: number): string {
  return `${new Date(at).toISOString().replace('Z', '000Z')} 00O `
}

const made = new WeakMap<SimJob, ReadonlyMap<string, Buffer>>()

/** Returns the job's gzipped artifact files by artifact type. Before the job has finished, there are none. The files are created only once. */
export function artifactsOf(job: SimJob, pipeline: SimPipeline): ReadonlyMap<string, Buffer> {
  if (job.finishedAt === undefined) return new Map()
  const known = made.get(job)
  if (known !== undefined) return known
  const artifacts = new Map<string, Buffer>()
  const tests = testReportOf(job, pipeline)
  if (tests !== undefined) artifacts.set('junit', tests)
  for (const type of job.startedAt === undefined || job.status !== 'success' ? [] : (job.plan.reports ?? [])) {
    artifacts.set(type, gzipSync(writers[type](job, pipeline)))
  }
  made.set(job, artifacts)
  return artifacts
}

const writers: Readonly<Record<SimReport, (job: SimJob, pipeline: SimPipeline) => string>> = {
  metrics,
  dotenv,
  cobertura,
  sast,
}

/** Returns a metrics report in which bundle sizes grow slightly with each pipeline. */
function metrics({ id }: SimJob, { iid }: SimPipeline): string {
  const random = new Random(id)
  const bytes = (start: number) => Math.round((start + iid * 90) * random.between(0.99, 1.01))
  return `# TYPE bundle_size_bytes gauge
bundle_size_bytes{part="app"} ${bytes(412_000)}
bundle_size_bytes{part="vendor"} ${bytes(1_208_000)}
# TYPE modules gauge
modules ${1_204 + (iid % 17)}
# EOF
`
}

function dotenv({ id }: SimJob, { sha, iid }: SimPipeline): string {
  return `IMAGE_TAG=${sha.slice(0, 12)}\nVERSION=4.${iid % 40}.${id % 10}\nREGISTRY_PASSWORD=hunter-${sha.slice(12, 20)}\n`
}

function cobertura({ coverage }: SimJob, { sha }: SimPipeline): string {
  const share = (coverage ?? 80) / 100
  const valid = 8_000 + (parseInt(sha.slice(0, 3), 16) % 900)
  const covered = Math.round(valid * share)
  return `<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage line-rate="${share.toFixed(4)}" lines-covered="${covered}" lines-valid="${valid}" branch-rate="${(share * 0.9).toFixed(4)}"><packages/></coverage>
`
}

function sast(_: SimJob, { sha }: SimPipeline): string {
  const code = new Random(parseInt(sha.slice(0, 7), 16))
  const vulnerabilities = ['Critical', 'High', 'Medium', 'Low', 'Low'].flatMap(severity =>
    code.chance(0.4) ? [{ id: code.hex(16), category: 'sast', name: 'A finding', severity }] : [],
  )
  return JSON.stringify({ version: '15.0.7', vulnerabilities, scan: { type: 'sast', status: 'success' } })
}

interface SimCase {
  readonly name: string
  readonly seconds: number
  readonly outcome: 'passed' | 'failed' | 'skipped'
}

interface SimSuite {
  readonly name: string
  readonly startedAt: number
  readonly seconds: number
  readonly cases: readonly SimCase[]
}

const subjects = ['cart', 'stock', 'prices', 'shipping', 'returns']
const deeds = [
  'is empty at first',
  'adds up',
  'rounds to cents',
  'survives a restart',
  'waits for the network',
  'says what is wrong',
  'keeps its order',
]

/** Returns the gzipped test report of a finished job, or undefined if the job has none. */
export function testReportOf(job: SimJob, { sha }: SimPipeline): Buffer | undefined {
  const { tests, name } = job.plan
  const { startedAt, finishedAt, failureReason } = job
  if (tests !== true || startedAt === undefined || finishedAt === undefined) return undefined
  // If the runner failed, it uploads no reports.
  if (failureReason !== undefined && failureReason !== 'script_failure') return undefined
  // The commit determines which tests are flaky. The durations differ in each run.
  const code = new Random(parseInt(sha.slice(0, 7), 16) + name.length)
  const run = new Random(job.id)
  const unlucky = code.whole(0, 6)
  const seconds = ((finishedAt - startedAt) / 1_000) * 0.7
  let at = startedAt + (finishedAt - startedAt) * 0.2
  const suites = subjects.map((suite, index): SimSuite => {
    const cases = deeds.map((deed, n): SimCase => {
      const isUnlucky = n === unlucky && index < 2
      const skips = n === 6 && index === 3
      const outcome = isUnlucky && failureReason !== undefined ? 'failed' : skips ? 'skipped' : 'passed'
      return { name: deed, outcome, seconds: (seconds / subjects.length / deeds.length) * run.between(0.2, 1.6) }
    })
    const own = cases.reduce((sum, one) => sum + one.seconds, 0)
    const placed = { name: suite, startedAt: at, seconds: own, cases }
    at += own * 1_000
    return placed
  })
  return gzipSync(junit(suites))
}

/** Formats a test report as pytest does: one suite for all tests, and a timestamp without a time zone. */
function junit(suites: readonly SimSuite[]): string {
  const cases = suites.flatMap(({ name, cases: own }) =>
    own.map(({ name: deed, seconds, outcome }) => {
      const about = `classname="tests.test_${name}" name="test_${deed.replaceAll(' ', '_')}" time="${seconds.toFixed(3)}"`
      if (outcome === 'skipped')
        return `<testcase ${about}><skipped type="pytest.skip" message="not on this machine">tests/test_${name}.py:12</skipped></testcase>`
      if (outcome !== 'failed') return `<testcase ${about} />`
      return `<testcase ${about}><failure message="AssertionError: assert 3 == 2">    def test_${deed.replaceAll(' ', '_')}():
&gt;       assert len(${name}()) == 2
E       AssertionError: assert 3 == 2

tests/test_${name}.py:41: AssertionError</failure></testcase>`
    }),
  )
  const seconds = suites.reduce((sum, one) => sum + one.seconds, 0)
  const at = new Date(suites[0]?.startedAt ?? 0).toISOString().replace('Z', '000')
  return `<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" time="${seconds.toFixed(3)}" timestamp="${at}" hostname="runner">${cases.join('')}</testsuite></testsuites>`
}

/** The path of a job's own spans in its artifacts. */
export const ownSpansPath = 'telemetry/spans.otlp.json'

/** Returns the job's own spans as OTLP/JSON, or undefined for a job without such spans. */
export function ownSpansOf({ id, plan, startedAt, finishedAt, artifactsSize }: SimJob): string | undefined {
  if (plan.spans !== true || startedAt === undefined || finishedAt === undefined) return undefined
  if (artifactsSize === undefined) return undefined
  const random = new Random(id)
  const traceId = random.hex(32)
  const root = random.hex(16)
  const took = finishedAt - startedAt
  const at = (share: number): string => `${Math.round(startedAt + took * share)}000000`
  const span = (name: string, from: number, to: number, more: object = {}): object => ({
    ...{ traceId, spanId: random.hex(16), parentSpanId: root, name, kind: 1 },
    ...{ startTimeUnixNano: at(from), endTimeUnixNano: at(to), ...more },
  })
  const spans = [
    { ...span('compose up', 0.15, 0.4), spanId: root, parentSpanId: '' },
    span('start database', 0.16, 0.28, {
      attributes: [{ key: 'db.system.name', value: { stringValue: 'postgresql' } }],
    }),
    span('migrate', 0.28, 0.39, { attributes: [{ key: 'migrations', value: { intValue: '14' } }] }),
  ]
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'compose' } }] },
        scopeSpans: [{ scope: { name: 'compose' }, spans }],
      },
    ],
  })
}
