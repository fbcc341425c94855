// Measures the memory cost of open connections: the resident memory while a thousand senders keep their connections open.
import { residentBytes, startDaemon } from './processes.ts'
import { finishes } from './hooks.ts'
import { load } from './load.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Question } from './question.ts'

/** The maximum accepted resident memory of the daemon, in MiB. */
const asked = 200
const open = 1_000

export const connections: Question = {
  id: 'connections',
  name: `peak resident memory with ${open} open connections, each with a delivery`,
  against: 'the accepted maximum',
  asked: { atMost: 1 },
  unit: 'MiB',
  times: { full: 3, quick: 1 },
  terms: () =>
    `${open} connections that stay open. Each sends one finished pipeline of 20 jobs (24.6 KB), all at the same time. The backend is ` +
    'unreachable. Settle delay 0; only traces.',
  rounds: async function* () {
    for (;;) {
      // With this setting, one address may open more than a quarter of all connections, because behind a proxy they all come from one address.
      await using daemon = await startDaemon({ env: { PIPESPAN_TRUST_PROXY: 'true' } })
      const idle = residentBytes(daemon.pid) / 2 ** 20
      const end = new AbortController()
      const hooks = finishes(20)
      let sent = 0
      const next = () => (sent++ < open ? hooks() : undefined)
      const { counts, ended } = load({ ports: [daemon.port], connections: open, next, signal: end.signal })
      let highest = 0
      do {
        if (await Promise.race([ended.then(() => true), sleep(20, false)])) break
        highest = Math.max(highest, residentBytes(daemon.pid) / 2 ** 20)
      } while (counts.accepted + counts.refused < open)
      end.abort()
      await ended
      if (counts.refused > 0) throw new Error(`${counts.refused} of ${open} webhooks were refused`)
      yield { ours: highest, rival: asked, seen: `${idle.toFixed(0)} MiB before` }
    }
  },
}
