// Measures the cost of the signals that are exported by default. Full load with traces, metrics and logs is compared with full load with traces
// alone.
import { finishes } from './hooks.ts'
import { fullLoad, defaultBacklog } from './full-load.ts'
import { interleaved, type Question } from './question.ts'
import { startDaemon, startServer, type Running } from './processes.ts'

export const signals: Question = {
  id: 'signals',
  name: 'finished pipelines exported per second with traces, metrics and logs, sustained',
  against: 'the same with traces alone',
  // Exporting all default signals may cost at most 1.5 times as much as exporting traces alone; the aim is 1.3 times.
  asked: { atLeast: 0.67, aim: 0.77 },
  unit: 'pipelines/s',
  times: { full: 3, quick: 1 },
  terms: quick =>
    `Every webhook reports a finished pipeline of 20 jobs (24.6 KB) that deploys twice. ${quick ? 4 : 60} s; at most ` +
    `${defaultBacklog(quick).toLocaleString('en')} pipelines are accepted but not yet exported. Settle delay 0, no enrichment.`,
  rounds: async function* (quick) {
    await using sink = await startServer('sink.ts')
    yield* interleaved(
      async () => rateOf('traces', sink, quick),
      async () => rateOf('traces,metrics,logs', sink, quick),
      ours => ({ ours }),
    )
  },
}

async function rateOf(exported: string, sink: Running, quick: boolean): Promise<number> {
  await using daemon = await startDaemon({ backend: sink.port, env: { SERVICE_OBSERVABILITY_EXPORT: exported } })
  const { pipelinesPerSecond } = await fullLoad({
    ...{ daemons: [daemon], sink, hooks: finishes(20), backlog: defaultBacklog(quick) },
    ...(quick ? { warmMs: 1_500, forMs: 4_000 } : { warmMs: 5_000, forMs: 60_000 }),
  })
  return pipelinesPerSecond
}
