// Measures whether a store that has been in use for a long time slows the daemon down. Full load with a million stored runs is compared with full
// load with a thousand.
import { filledEnv, filledStore, sharedStore, type FilledStore } from './full-store.ts'
import { finishes } from './hooks.ts'
import { fullLoad, defaultBacklog } from './full-load.ts'
import { startDaemon, startServer, type Running } from './processes.ts'
import { interleaved, type Question } from './question.ts'

export const throughput: Question = {
  id: 'throughput',
  name: 'finished pipelines exported per second with a very large number of stored runs',
  against: 'the same with 1,000 stored runs',
  asked: { atLeast: 0.9 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `The store has ${quick ? '100,000' : '1,000,000'} runs of 1 to 13 jobs that are exported and not yet pruned. Full load with ` +
    `finished pipelines of 20 jobs for ${quick ? 2.5 : 25} s. Settle delay 0; only traces.`,
  rounds: async function* (quick) {
    await using sink = await startServer('sink.ts')
    const full = await sharedStore(quick)
    yield* interleaved(
      async () => {
        using few = await filledStore(1_000)
        return await rateOf(few, sink, quick)
      },
      async () => rateOf(full, sink, quick),
      ours => ({ ours }),
    )
  },
}

async function rateOf(store: FilledStore, sink: Running, quick: boolean): Promise<number> {
  await using daemon = await startDaemon({ backend: sink.port, folder: store.folder, env: filledEnv })
  const { pipelinesPerSecond } = await fullLoad({
    ...{ daemons: [daemon], sink, hooks: finishes(20, store.newPipelines()), backlog: defaultBacklog(quick) },
    ...(quick ? { warmMs: 1_000, forMs: 2_500 } : { warmMs: 5_000, forMs: 25_000 }),
  })
  await daemon.stop()
  return pipelinesPerSecond
}
