// Webhooks worked off per second when a platform reports every change of its pipelines, against a bare server with the same.
import { answeredPerSecond } from './load.ts'
import { fullLoad } from './full-load.ts'
import { platformMix } from './hooks.ts'
import { startDaemon, startServer } from './processes.ts'
import { interleaved, type Question } from './question.ts'

export const mix: Question = {
  id: 'mix',
  name: "webhooks of a platform's mix worked off per second, sustained",
  against: 'bare node:http that only collects the body',
  asked: { atLeast: 0.12, aim: 0.2 },
  unit: 'webhooks/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    'Of each pipeline of 20 jobs 8 pipeline events, one of them its finish, and 3 events of each job (68 webhooks); 50 ' +
    `pipelines under way; ${quick ? 4 : 60} s, never more than 20 finishes accepted and not yet exported; settle delay ` +
    '0, no enrichment, traces to a local receiver.',
  rounds: async function* (quick) {
    await using bare = await startServer('bare-server.ts')
    await using sink = await startServer('sink.ts')
    const bareTimes = quick ? { warmMs: 400, forMs: 800 } : { warmMs: 1_000, forMs: 5_000 }
    const times = quick ? { warmMs: 1_500, forMs: 4_000 } : { warmMs: 5_000, forMs: 60_000 }
    yield* interleaved(
      async () => answeredPerSecond({ ports: [bare.port], next: platformMix(), ...bareTimes }),
      async () => {
        await using daemon = await startDaemon({ backend: sink.port })
        return await fullLoad({ daemons: [daemon], sink, hooks: platformMix(), backlog: 20, ...times })
      },
      ({ webhooksPerSecond, pipelinesPerSecond }) => ({
        ours: webhooksPerSecond,
        seen: `${pipelinesPerSecond.toFixed(1)} pipelines exported per second`,
      }),
    )
  },
}
