// Pipelines exported per second under full load, every webhook a finished one, against a bare server with the same webhooks.
import { answeredPerSecond } from './load.ts'
import { finishes } from './hooks.ts'
import { fullLoad } from './full-load.ts'
import { startDaemon, startServer } from './processes.ts'
import type { Question } from './question.ts'

export const sustained: Question = {
  id: 'sustained',
  name: 'finished pipelines taken in and exported per second, sustained',
  against: 'bare node:http that only collects the body',
  asked: { atLeast: 0.05, aim: 0.1 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `Every webhook a finished pipeline of 20 jobs (24.6 KB): parsed, merged, mapped, encoded, gzipped and answered by a ` +
    `local receiver; ${quick ? 5 : 60} s, never more than 1,000 accepted and not yet exported; settle delay 0, no ` +
    'enrichment, traces.',
  rounds: async function* (quick) {
    await using bare = await startServer('bare-server.ts')
    await using sink = await startServer('sink.ts')
    const bareTimes = quick ? { warmMs: 500, forMs: 1_000 } : { warmMs: 1_000, forMs: 5_000 }
    const times = quick ? { warmMs: 1_500, forMs: 5_000 } : { warmMs: 5_000, forMs: 60_000 }
    for (;;) {
      const rival = await answeredPerSecond({ ports: [bare.port], next: finishes(20), ...bareTimes })
      await using daemon = await startDaemon({ backend: sink.port })
      const { pipelinesPerSecond } = await fullLoad({
        ...{ daemons: [daemon], sink, backlog: 1_000, ...times },
        hooks: finishes(20),
      })
      yield { ours: pipelinesPerSecond, rival }
    }
  },
}
