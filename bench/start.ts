// Start to ready, against a Node process that does nothing.
import { execFileSync } from 'node:child_process'
import { startDaemon } from './processes.ts'
import type { Question } from './question.ts'

export const start: Question = {
  name: 'start to ready (empty store)',
  against: '`node -e 0`',
  asked: { atMost: 8 },
  unit: 'ms',
  rounds: { full: 9, quick: 3 },
  round: async () => {
    const began = performance.now()
    execFileSync(process.execPath, ['-e', '0'])
    const rival = performance.now() - began
    const daemon = await startDaemon()
    await daemon.stop()
    return { ours: daemon.readyAfter, rival }
  },
}
