// How much of a report is read: the platform's limits, and generous ones of our own.

export interface ReportCaps {
  /** Bytes as they are downloaded. */
  readonly packed: number
  /** Bytes once unpacked. */
  readonly unpacked: number
  /** Elements within each other. */
  readonly depth: number
  /** Test cases whose result is read; the rest is counted. */
  readonly cases: number
}

const megabyte = 1024 * 1024

export const reportCaps: ReportCaps = { packed: 30 * megabyte, unpacked: 100 * megabyte, depth: 100, cases: 100_000 }
