// Measures how many webhooks per second the daemon accepts when each is stored on disk before the response is sent. The reference is a bare node:http
// server that only reads the body.
import { answeredPerSecond } from './load.ts'
import { finishes } from './hooks.ts'
import { startDaemon, startServer } from './processes.ts'
import { interleaved, type Question } from './question.ts'

export const accept: Question = {
  id: 'accept',
  name: 'durable webhooks accepted per second',
  against: 'a bare node:http server that only reads the body',
  // The ratios `atLeast` and `aim` correspond to 1,500 and 2,500 webhooks per second on the machine where the recorded figures were measured.
  asked: { atLeast: 0.065, aim: 0.11 },
  unit: 'requests/s',
  times: { full: 9, quick: 2 },
  terms: () =>
    'Finished pipelines of 20 jobs (24.6 KB) over 32 connections. Each is committed with full sync before the response. ' +
    'Default settings; traces are exported to a local receiver.',
  rounds: async function* (quick) {
    await using bare = await startServer('bare-server.ts')
    await using sink = await startServer('sink.ts')
    const times = quick ? { warmMs: 500, forMs: 1_000 } : { warmMs: 2_000, forMs: 5_000 }
    yield* interleaved(
      async () => answeredPerSecond({ ports: [bare.port], next: finishes(20), ...times }),
      async () => {
        // Each round uses a new daemon, because a daemon that still processes a backlog would take processor time from the reference server.
        await using daemon = await startDaemon({ backend: sink.port, env: { PIPESPAN_SETTLE: '5s' } })
        return await answeredPerSecond({ ports: [daemon.port], next: finishes(20), ...times })
      },
      ours => ({ ours }),
    )
  },
}
