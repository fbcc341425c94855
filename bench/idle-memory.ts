// Measures the resident memory of a daemon that is idle after startup.
import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytes, startDaemon } from './processes.ts'
import type { Question } from './question.ts'

/**
 * The maximum accepted resident memory, in MiB: the value of November 2026 (107) plus a tenth, to detect growth. docs/internals/performance.md
 * explains what uses this memory.
 */
const accepted = 117

export const idleMemory: Question = {
  id: 'idle-memory',
  name: 'resident memory of an idle daemon after startup',
  against: 'the accepted level plus 10 %',
  asked: { atMost: 1 },
  unit: 'MiB',
  times: { full: 5, quick: 2 },
  terms: quick => `A new store; ${quick ? 3 : 30} s after it is ready.`,
  rounds: async function* (quick) {
    for (;;) {
      await using daemon = await startDaemon()
      await sleep(quick ? 3_000 : 30_000)
      yield { ours: residentBytes(daemon.pid) / 2 ** 20, rival: accepted }
    }
  },
}
