// Measures the daemon under full load: as many webhooks as it can process. Senders pause while more than a small backlog is accepted but not yet
// exported.
import { setTimeout as sleep } from 'node:timers/promises'
import { answeredPerSecond, load, type Hook } from './load.ts'
import { countsOf, startDaemon, startServer, type Running } from './processes.ts'
import { interleaved, type Round } from './question.ts'

export interface FullLoadOptions {
  readonly daemons: readonly Running[]
  readonly sink: Running
  readonly hooks: () => Hook
  /** The maximum number of finished pipelines that are accepted but not yet exported. */
  readonly backlog: number
  readonly warmMs: number
  readonly forMs: number
}

export interface FullLoad {
  /** The number of exported pipelines per second, as counted by the backend. */
  readonly pipelinesPerSecond: number
  /** The number of webhooks that the daemon accepts per second while its backlog stays within the limit. */
  readonly webhooksPerSecond: number
}

/** Returns the default limit of the backlog, in finished pipelines. A larger backlog takes longer to build up and to process. */
export function defaultBacklog(quick: boolean): number {
  return quick ? 200 : 1_000
}

/** The interval at which the backend's counts are polled, ms. */
const askEvery = 20

/** Loads the daemons for the given time. Only the time after the warm-up is measured. */
export async function fullLoad(options: FullLoadOptions): Promise<FullLoad> {
  const { daemons, sink, hooks, backlog, warmMs, forMs } = options
  const before = (await countsOf(sink)).pipelines
  let exported = 0
  let finishes = 0
  const next = (): Hook | undefined => {
    if (finishes - exported >= backlog) return undefined
    const hook = hooks()
    if (hook.isFinish) finishes += 1
    return hook
  }
  const end = new AbortController()
  const { counts, ended } = load({ ports: daemons.map(({ port }) => port), next, signal: end.signal })
  const broken = ended.then(() => true)
  const passing = async (ms: number): Promise<{ at: number; exported: number; accepted: number }> => {
    const until = performance.now() + ms
    do {
      if (await Promise.race([broken, sleep(askEvery, false)])) throw new Error('the load ended too early')
      exported = (await countsOf(sink)).pipelines - before
    } while (performance.now() < until)
    return { at: performance.now(), exported, accepted: counts.accepted }
  }
  try {
    const from = await passing(warmMs)
    const to = await passing(forMs)
    if (counts.refused > 0) throw new Error(`${counts.refused} of ${counts.sent} webhooks were refused`)
    const seconds = (to.at - from.at) / 1000
    return {
      pipelinesPerSecond: (to.exported - from.exported) / seconds,
      webhooksPerSecond: (to.accepted - from.accepted) / seconds,
    }
  } finally {
    end.abort()
    await ended.catch(() => undefined)
  }
}

/**
 * Sends this many finished pipelines, and pauses while a full backlog is sent but not yet exported. Resolves when the backend has received them all.
 */
export async function sendAll(
  count: number,
  hooks: () => Hook,
  { port }: Running,
  sink: Running,
  quick: boolean,
): Promise<void> {
  const before = (await countsOf(sink)).pipelines
  let sent = 0
  let exported = 0
  const next = (): Hook | undefined => {
    if (sent === count || sent - exported >= defaultBacklog(quick)) return undefined
    sent += 1
    return hooks()
  }
  const end = new AbortController()
  const { ended } = load({ ports: [port], next, signal: end.signal })
  while (exported < count) {
    await Promise.race([ended, sleep(askEvery)])
    exported = (await countsOf(sink)).pipelines - before
  }
  end.abort()
  await ended
}

export interface FullLoadRounds {
  /** Returns a function that generates the webhooks from the first one on. */
  readonly hooks: () => () => Hook
  readonly backlog: number
  readonly roundOf: (load: FullLoad) => Omit<Round, 'rival'>
}

/** Yields the measured rounds. They alternate between a bare server that only reads the bodies, and a new daemon under full load. */
export async function* fullLoadRounds(
  quick: boolean,
  { hooks, backlog, roundOf }: FullLoadRounds,
): AsyncGenerator<Round, void, void> {
  await using bare = await startServer('bare-server.ts')
  await using sink = await startServer('sink.ts')
  const bareTimes = quick ? { warmMs: 400, forMs: 800 } : { warmMs: 1_000, forMs: 5_000 }
  const times = quick ? { warmMs: 1_500, forMs: 4_000 } : { warmMs: 5_000, forMs: 60_000 }
  yield* interleaved(
    async () => answeredPerSecond({ ports: [bare.port], next: hooks(), ...bareTimes }),
    async () => {
      await using daemon = await startDaemon({ backend: sink.port })
      return await fullLoad({ daemons: [daemon], sink, hooks: hooks(), backlog, ...times })
    },
    roundOf,
  )
}
