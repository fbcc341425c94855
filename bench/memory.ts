// Compares resident memory under full load while the backend is unreachable with resident memory under the same load while it is up.
import { setTimeout as sleep } from 'node:timers/promises'
import { finishes } from './hooks.ts'
import { fullLoad, defaultBacklog } from './full-load.ts'
import { load } from './load.ts'
import { residentBytes, startDaemon, startServer, type RunningDaemon } from './processes.ts'
import type { Question } from './question.ts'

export const memory: Question = {
  id: 'memory',
  name: 'peak resident memory under full load with the backend down',
  against: 'the same with the backend up',
  asked: { atMost: 1.3 },
  unit: 'MiB',
  times: { full: 1, quick: 1 },
  terms: quick =>
    `Finished pipelines of 20 jobs. Backend up: full load for ${quick ? '5 s' : '4 minutes'}. Backend down (connections refused): ` +
    `the same number of webhooks per second to another daemon for ${quick ? '8 s' : '10 minutes'}; when its store of 10 GiB is full, ` +
    'further webhooks are refused. Settle delay 0; only traces.',
  rounds: async function* (quick) {
    for (;;) {
      const there = await withBackend(quick, quick ? 5_000 : 240_000)
      const away = await withoutBackend(quick ? 8_000 : 600_000, there.perSecond)
      const offered = `${there.perSecond.toFixed(0)} webhooks per second; the store accepted ${away.taken} webhooks`
      yield { ours: away.highest / 2 ** 20, rival: there.highest / 2 ** 20, seen: offered }
    }
  },
}

/** The peak resident memory under full load with a backend that accepts everything. */
export async function withBackend(quick: boolean, forMs: number): Promise<{ highest: number; perSecond: number }> {
  await using sink = await startServer('sink.ts')
  await using daemon = await startDaemon({ backend: sink.port })
  using watched = watch(daemon)
  const common = { daemons: [daemon], sink, hooks: finishes(20), backlog: defaultBacklog(quick) }
  const { pipelinesPerSecond } = await fullLoad({ ...common, warmMs: 2_000, forMs: forMs - 2_000 })
  return { highest: watched.highest(), perSecond: pipelinesPerSecond }
}

/** The peak resident memory without a backend, at a given number of webhooks per second. */
export async function withoutBackend(forMs: number, perSecond: number): Promise<{ highest: number; taken: number }> {
  await using daemon = await startDaemon()
  using watched = watch(daemon)
  const began = performance.now()
  const hooks = finishes(20)
  let sent = 0
  const next = () => {
    if (sent >= ((performance.now() - began) * perSecond) / 1_000) return undefined
    sent += 1
    return hooks()
  }
  const end = new AbortController()
  const { counts, ended } = load({ ports: [daemon.port], next, signal: end.signal })
  await Promise.race([ended, sleep(forMs)])
  end.abort()
  await ended
  return { highest: watched.highest(), taken: counts.accepted }
}

function watch({ pid }: RunningDaemon): Disposable & { highest: () => number } {
  let highest = 0
  const timer = setInterval(() => {
    highest = Math.max(highest, residentBytes(pid))
  }, 100)
  return { highest: () => highest, [Symbol.dispose]: () => clearInterval(timer) }
}
