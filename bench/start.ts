// Measures how long the daemon takes to become ready with a store that has been in use for a long time. The rival is a Node process that does
// nothing.
import { execFileSync } from 'node:child_process'
import { filledEnv, sharedStore } from './full-store.ts'
import { startDaemon } from './processes.ts'
import { timed } from './work.ts'
import type { Question } from './question.ts'

export const start: Question = {
  id: 'start',
  name: 'time from start to ready with a very large number of stored runs',
  against: '`node -e 0`',
  asked: { atMost: 8 },
  unit: 'ms',
  times: { full: 11, quick: 3 },
  terms: quick =>
    `${quick ? '100,000' : '1,000,000'} runs that are exported and not yet pruned. Measured from the start of the process to its first ` +
    'successful response on /readyz.',
  rounds: async function* (quick) {
    const { folder } = await sharedStore(quick)
    for (;;) {
      const rival = timed(() => execFileSync(process.execPath, ['-e', '0']))
      await using daemon = await startDaemon({ folder, env: filledEnv })
      const ours = daemon.readyAfter
      await daemon.stop()
      yield { ours, rival }
    }
  },
}
