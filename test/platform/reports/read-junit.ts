// Reads JUnit reports for tests, each in a single window.
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { readJunit, type TestReadOptions } from '../../../src/platform/reports/read-tests.ts'
import { reportCaps } from '../../../src/platform/reports/report-fault.ts'

export const options: TestReadOptions = { maxText: 4_096, keptCases: 1_000 }

async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Reads a report. Bytes are read unchanged; a string is compressed first. */
export async function read(text: string | Uint8Array, caps = reportCaps) {
  const packed = typeof text === 'string' ? gzipSync(text) : text
  return readJunit(inOne(packed), { ...options, caps })
}

/** Returns a report's numbers of tests: all, passed, failed, errored, skipped and flaky. The report must be free of errors. */
export async function totalsOf(text: string) {
  const { report } = await read(text)
  expect(report.fault).toBeUndefined()
  const { total, passed, failed, errored, skipped, flaky } = report.totals
  return [total, passed, failed, errored, skipped, flaky]
}
