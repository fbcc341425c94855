// Measures the longest turn of the event loop while a job report, a log or an API response of the platform is read. During a turn the process does
// nothing else. JSON of webhooks and of the API is parsed in one turn, whatever its size. Such turns are not measured here
// (docs/internals/performance.md).
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { createReadLog } from '../src/platform/job-log/read-log.ts'
import { createApi } from '../src/platform/rest/api.ts'
import { createSpanCollector } from '../src/platform/reports/own-spans.ts'
import { createTextRedaction } from '../src/lib/text-redaction.ts'
import { maxJsonBytes } from '../src/platform/reports/json-documents.ts'
import { readCoverage } from '../src/platform/reports/coverage.ts'
import { readFindings } from '../src/platform/reports/read-report.ts'
import { readJunit } from '../src/platform/reports/read-tests.ts'
import { readMetrics } from '../src/platform/reports/open-metrics.ts'
import { readTestReport, testReport } from '../src/platform/reports/test-report-json.ts'
import { restJob } from '../src/platform/rest/jobs.ts'
import { silentLog } from '../src/lib/log.ts'
import type { JobSnapshot } from '../src/model/chunk.ts'
import type { PlatformClient } from '../src/platform/port.ts'
import type { Question } from './question.ts'
import type { Requester } from '../src/platform/rest/request.ts'

/** The maximum accepted length of a turn, in ms. */
const asked = 250
const MiB = 2 ** 20
const redactText = createTextRedaction([])
const kept = { maxText: 66_000, keptCases: 1_000 }

export const holds: Question = {
  id: 'holds',
  name: 'longest turn of the event loop while the slowest report, log or API response is read',
  against: 'the accepted maximum',
  asked: { atMost: 1 },
  unit: 'ms',
  times: { full: 1, quick: 1 },
  terms: quick =>
    'For each reader, the input that takes longest for its size; all of its bytes are available at once. ' +
    `${quick ? 'Inputs have 2 MiB' : 'Inputs have the maximum size (metrics and logs: 8 MiB)'}. Processor time of the thread in one turn.`,
  rounds: async function* (quick) {
    const forms = formsOf(quick)
    // Every input is read once before the measurement, because a running daemon has already read such inputs.
    for (const read of Object.values(formsOf(true))) await read()
    for (;;) {
      const found: (readonly [name: string, ms: number])[] = []
      for (const [name, read] of Object.entries(forms)) found.push([name, await maxTurn(read)])
      const slowest = Math.max(...found.map(([, ms]) => ms))
      yield { ours: slowest, rival: asked, seen: found.map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`).join(', ') }
    }
  },
}

/** Returns the longest turn of the event loop while `read` runs, in ms of processor time. */
async function maxTurn(read: () => Promise<unknown>): Promise<number> {
  const over = new AbortController()
  const { promise: begun, resolve: begin } = Promise.withResolvers<undefined>()
  const reading = begun.then(read).finally(() => over.abort())
  let longest = 0
  begin(undefined)
  for (let before = process.threadCpuUsage(); !over.signal.aborted; before = process.threadCpuUsage()) {
    await nextTurn()
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1_000)
  }
  await reading
  return longest
}

function formsOf(quick: boolean): Readonly<Record<string, () => Promise<unknown>>> {
  const upTo = (bytes: number): number => (quick ? Math.min(bytes, 2 * MiB) : bytes)
  const unpacked = upTo(100 * MiB - 1_000)
  const items = filled('{},', upTo(4 * MiB - 1_000))
  const cases = list(quick ? 10_000 : 99_000, n => `<testcase name="${n % 49_500}" classname="c" time="${n}"/>`)
  const results = list(quick ? 4_000 : 60_000, n => `{"name":"test ${n}","classname":"c","execution_time":1.5},`)
  const message = filled('ö\\n', upTo(30 * MiB) / 100)
  const jobs = list(100, n => `{"id":${n + 1},"status":"success","commit":{"id":"c0ffee","message":"${message}"}},`)

  const log = Buffer.from(filled('x\n', upTo(8 * MiB)))
  const suite = packed(`<testsuite tests="49500">${cases}</testsuite>`)
  const elements = packed(`<testsuite>${filled('<a/>', unpacked)}</testsuite>`)
  const documents = packed(filled('<?xml version="1.0"?><coverage line-rate="1"/>', unpacked))
  const finding = '{"severity":"major","description":"a sentence about what is wrong"},'
  const lists = packed(`[${filled(finding, upTo(maxJsonBytes - 1_000))}0]`)
  const samples = packed(filled('a{b="c"} 1\n', upTo(8 * MiB)))
  const spans = packed(requestOf(items))
  const span = packed(requestOf(`{"attributes":[{"key":"a","value":{"arrayValue":{"values":[${items}0]}}}]},`))
  const report: unknown = JSON.parse(`{"test_suites":[{"name":"a","test_cases":[${results}0]}]}`)
  const json: unknown = JSON.parse(`[${jobs}0]`)
  return {
    log: async () => readLog(log),
    tests: async () => readJunit(suite(), kept),
    'test elements': async () => readJunit(elements(), kept),
    coverage: async () => readCoverage(documents()),
    findings: async () => readFindings(lists(), 'codequality'),
    metrics: async () => readMetrics(samples(), redactText),
    'job spans': async () => createSpanCollector({ start: 0, end: 1 }).read(spans(), false),
    'one job span': async () => createSpanCollector({ start: 0, end: 1 }).read(span(), false),
    'parsed tests': async () => {
      const { test_suites } = testReport.parse(report)
      return readTestReport({ test_suites }, 'a', { ...kept, maxCases: 100_000 })
    },
    'page of jobs': async () => {
      const url = new URL('https://git.example.com/api/v4/jobs')
      const ask = async () => ({ json, headers: {}, url, endpoint: 'GET /jobs' })
      const requester = { ask } as unknown as Requester
      const api = createApi({ base: 'https://git.example.com/api/v4', requester, maxBytes: MiB, log: silentLog() })
      return api.pages('/jobs', restJob, { priority: 'inside' }).next()
    },
  }
}

function filled(unit: string, bytes: number): string {
  return unit.repeat(bytes / Buffer.byteLength(unit))
}

function list(length: number, item: (n: number) => string): string {
  return Array.from({ length }, (_, n) => item(n)).join('')
}

function requestOf(spans: string): string {
  return `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}0]}]}]}`
}

/** Creates a gzip-compressed report whose bytes are all available at once. */
function packed(text: string): () => AsyncIterable<Uint8Array> {
  const bytes = gzipSync(text, { level: 1 })
  return async function* () {
    yield bytes
  }
}

const job: JobSnapshot = {
  ...{ id: 1, kind: 'job', name: 'build', status: 'success', retried: false, allowFailure: false },
  ...{ start: 0, end: 1_000 },
}

async function readLog(log: Buffer): Promise<unknown> {
  const client: Pick<PlatformClient, 'jobLog'> = {
    jobLog: async (_project, _job, { onWindow }) => {
      for (let at = 0; at < log.length; at += 64 * 1024) {
        onWindow(log.subarray(at, at + 64 * 1024))
        await nextTurn()
      }
      return { bytes: log.length, isWhole: true }
    },
  }
  const read = createReadLog(client, { redactText, readMax: 2 ** 40, linesMax: MiB })
  return (await read(3, job, { sections: true, lines: true }, { priority: 'inside' })).lines()
}
