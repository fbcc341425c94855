// Limits of how much of a report is read: the platform's own limits, and wider ones that Pipespan sets.

export interface ReportCaps {
  /** Maximum number of bytes that are downloaded. */
  readonly packed: number
  /** Maximum number of bytes after unpacking. */
  readonly unpacked: number
  /** Maximum depth of nested elements. */
  readonly depth: number
  /** Maximum number of test cases whose result is read. Further cases are only counted. */
  readonly cases: number
}

const megabyte = 1024 * 1024

export const reportCaps: ReportCaps = { packed: 30 * megabyte, unpacked: 100 * megabyte, depth: 100, cases: 100_000 }
