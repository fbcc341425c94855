// Pipelines exported per second under full load, every webhook a finished one, against a bare server with the same webhooks.
import { answeredPerSecond } from './load.ts'
import { finishes } from './hooks.ts'
import { fullLoad, usualBacklog } from './full-load.ts'
import { startDaemon, startServer } from './processes.ts'
import { interleaved, type Question } from './question.ts'

export const sustained: Question = {
  id: 'sustained',
  name: 'finished pipelines taken in and exported per second, sustained',
  against: 'bare node:http that only collects the body',
  asked: { atLeast: 0.05, aim: 0.1 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `Every webhook a finished pipeline of 20 jobs (24.6 KB): parsed, merged, mapped, encoded, gzipped and answered by a ` +
    `local receiver; ${quick ? 4 : 60} s, never more than ${usualBacklog(quick).toLocaleString('en')} accepted and not yet exported; settle delay 0, no ` +
    'enrichment, traces.',
  rounds: async function* (quick) {
    await using bare = await startServer('bare-server.ts')
    await using sink = await startServer('sink.ts')
    const bareTimes = quick ? { warmMs: 400, forMs: 800 } : { warmMs: 1_000, forMs: 5_000 }
    const times = quick ? { warmMs: 1_500, forMs: 4_000 } : { warmMs: 5_000, forMs: 60_000 }
    yield* interleaved(
      async () => answeredPerSecond({ ports: [bare.port], next: finishes(20), ...bareTimes }),
      async () => {
        await using daemon = await startDaemon({ backend: sink.port })
        return await fullLoad({ daemons: [daemon], sink, hooks: finishes(20), backlog: usualBacklog(quick), ...times })
      },
      ({ pipelinesPerSecond }) => ({ ours: pipelinesPerSecond }),
    )
  },
}
