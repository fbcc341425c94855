// Tests that reports of any size are read in many short turns of the event loop, so that other work on the thread can run.
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { bytesPerTurn } from '../../../src/platform/reports/unpack.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { readCoverage } from '../../../src/platform/reports/coverage.ts'
import { readDotenv } from '../../../src/platform/reports/read-report.ts'
import { readJunit } from '../../../src/platform/reports/read-tests.ts'
import { readMetrics } from '../../../src/platform/reports/open-metrics.ts'
import { readTestReport, testReport } from '../../../src/platform/reports/test-report-json.ts'
import { turnsDuring } from '../../support/turns.ts'

type Bytes = AsyncIterable<Uint8Array>

/** Yields all bytes at once, like object storage in the same network. */
async function* of(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

const bytes = 640 * 1024
const filled = (before: string, unit: string, after: string): string =>
  before + unit.repeat(Math.ceil(bytes / unit.length)) + after

it.each<[string, string, (source: Bytes) => Promise<unknown>]>([
  [
    'tests',
    filled('<testsuite>', '<a/>', '</testsuite>'),
    async source => readJunit(source, { maxText: 1, keptCases: 0 }),
  ],
  [
    'coverage',
    filled('<coverage>', '<line number="1" hits="1"/>', '</coverage>'),
    async source => readCoverage(source),
  ],
  ['metrics', filled('', 'a 1\n', ''), async source => readMetrics(source, createTextRedaction([]))],
  ['dotenv', filled('', 'A=b\n', ''), async source => readDotenv(source, () => true, createTextRedaction([]))],
])('yields to the event loop while it reads a report, compressed or not: %s', async (_, text, read) => {
  for (const body of [Buffer.from(text), gzipSync(text)]) {
    expect(await turnsDuring(read(of(body)))).toBeGreaterThanOrEqual(bytes / bytesPerTurn)
  }
})

it.each([
  ['one suite of many cases', [{ name: 'unit', test_cases: Array.from({ length: 20_000 }, () => ({})) }]],
  ['many suites', [...Array.from({ length: 20_000 }, (_, n) => ({ name: String(n) })), { name: 'unit' }]],
])("yields to the event loop while it reads the platform's own test report: %s", async (_, suites) => {
  const options = { maxCases: 100_000, maxText: 1, keptCases: 0 }
  const report = testReport.parse({ test_suites: suites })
  expect(await turnsDuring(readTestReport(report, 'unit', options))).toBeGreaterThanOrEqual(100)
})
