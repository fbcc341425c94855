// Tests what the pages and the log show about a backend's responses.
import { beforeEach, describe, expect, it } from 'vitest'
import { createExportStats, type ExportStats } from '../../../src/core/send/export-stats.ts'
import { listeningLog, traces } from './bench.ts'

const now = Date.UTC(2026, 5, 1, 12)

describe('the statistics of an export queue', () => {
  let stats: ExportStats
  let lines: ReturnType<typeof listeningLog>['lines']
  beforeEach(() => {
    const listening = listeningLog()
    lines = listening.lines
    stats = createExportStats(traces, { now: () => now, sleep: async () => undefined }, listening.log, undefined)
  })
  const deliver = (rejected: number, message?: string): void =>
    stats.answered({ verdict: { as: 'delivered', rejected, message }, token: undefined, tookMs: 5 }, 10, 1_000)

  it('show no error and log nothing after a backend has accepted everything', () => {
    deliver(0)
    expect([stats.lastSuccess, stats.lastError]).toEqual([now, undefined])
    expect(lines).toEqual([])
  })

  it('show that a backend has rejected items even if the backend gives no reason', () => {
    deliver(3)
    expect(stats.counters.partiallyRejected).toBe(3)
    expect(stats.lastError).toEqual({ message: 'no reason given', at: now })
  })

  it('log a message only once if the backend repeats it', () => {
    for (const message of ['use gRPC', 'use gRPC', 'use less']) deliver(0, message)
    expect(stats.lastError).toEqual({ message: 'use less', at: now })
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn'])
  })
})
