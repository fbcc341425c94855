// Compares three replicas on one PostgreSQL server with one process on SQLite, all on the same machine.
import { finishes } from './hooks.ts'
import { fullLoad, defaultBacklog } from './full-load.ts'
import { startDaemon, startServer, type Running } from './processes.ts'
import { startPostgres } from '../test/core/store/postgres-server.ts'
import { interleaved, type Question } from './question.ts'

export const postgres: Question = {
  id: 'postgres',
  name: 'finished pipelines exported per second by three replicas on PostgreSQL',
  against: 'one process on SQLite',
  asked: { atLeast: 0.5 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `Full load with finished pipelines of 20 jobs for ${quick ? 2.5 : 30} s, distributed over the replicas. Server, replicas, sender ` +
    'and receiver share the machine. Both databases sync commits to disk (fsync). Settle delay 0; only traces.',
  rounds: async function* (quick) {
    await using sink = await startServer('sink.ts')
    const server = await startPostgres({ durable: true })
    try {
      yield* interleaved(
        async () => rateOf([{}], sink, quick),
        async () => {
          const PIPESPAN_STORE_URL = await server.newDatabase()
          return rateOf(
            Array.from({ length: 3 }, () => ({ PIPESPAN_STORE_URL })),
            sink,
            quick,
          )
        },
        ours => ({ ours }),
      )
    } finally {
      await server.dispose()
    }
  },
}

async function rateOf(replicas: readonly Record<string, string>[], sink: Running, quick: boolean): Promise<number> {
  await using started = new AsyncDisposableStack()
  const daemons: Running[] = []
  // The replicas start one after another, because the first one creates the tables.
  for (const env of replicas) daemons.push(started.use(await startDaemon({ backend: sink.port, env })))
  const times = quick ? { warmMs: 1_000, forMs: 2_500 } : { warmMs: 5_000, forMs: 30_000 }
  return (await fullLoad({ daemons, sink, hooks: finishes(20), backlog: defaultBacklog(quick), ...times }))
    .pipelinesPerSecond
}
