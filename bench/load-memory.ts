// Measures peak resident memory under full load, both with a backend and while the backend is unreachable.
import { withBackend, withoutBackend } from './memory.ts'
import type { Question } from './question.ts'

/**
 * Maximum accepted resident memory, MiB. It is the value of November 2026 (299) plus a tenth, so that growth is detected.
 * docs/internals/performance.md explains what uses this memory.
 */
const accepted = 329

export const loadMemory: Question = {
  id: 'load-memory',
  name: 'peak resident memory under full load, with the backend up or down',
  against: 'the accepted level plus 10 %',
  asked: { atMost: 1 },
  unit: 'MiB',
  times: { full: 1, quick: 1 },
  terms: quick =>
    `Finished pipelines of 20 jobs. ${quick ? '5 s' : '5 minutes'} of full load with the backend up, then the same number of webhooks per second ` +
    'for the same time to another daemon with the backend down. Settle delay 0; only traces.',
  rounds: async function* (quick) {
    for (;;) {
      const ms = quick ? 5_000 : 300_000
      const there = await withBackend(quick, ms)
      const away = await withoutBackend(ms, there.perSecond)
      const [withIt, without] = [there.highest, away.highest].map(bytes => bytes / 2 ** 20)
      const seen = `${withIt?.toFixed(0)} MiB with the backend up, ${without?.toFixed(0)} MiB with it down`
      yield { ours: Math.max(withIt ?? 0, without ?? 0), rival: accepted, seen }
    }
  },
}
