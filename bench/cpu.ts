// Measures the processor time from receiving the webhook to sending the request, relative to JSON.parse of the same webhooks.
import { setTimeout as sleep } from 'node:timers/promises'
import { processorMs, startDaemon, startServer, type Running } from './processes.ts'
import { bodiesOf, finishedPipeline } from './payload.ts'
import { defaultBacklog, sendAll } from './full-load.ts'
import { finishes } from './hooks.ts'
import { timed } from './work.ts'
import type { Question } from './question.ts'

export const cpu: Question = {
  id: 'cpu',
  name: 'processor time of a finished pipeline, from its webhook to the sent request',
  against: 'JSON.parse of its webhook',
  // A ratio of 18 corresponds to 0.8 ms, including the time to receive the request.
  asked: { atMost: 18 },
  unit: 'µs',
  times: { full: 5, quick: 1 },
  terms: quick =>
    `${quick ? '1,000' : '10,000'} pipelines of 20 jobs are sent to the daemon. At most ${defaultBacklog(quick).toLocaleString('en')} are accepted but not yet ` +
    'exported. User and system time of all threads of the daemon, until the backend has received all pipelines. Settle delay 0; only traces.',
  rounds: async function* (quick) {
    const [warm, pipelines] = quick ? [500, 1_000] : [6_000, 10_000]
    await using sink = await startServer('sink.ts')
    for (;;) {
      await using daemon = await startDaemon({ backend: sink.port })
      // The processor time of an idle process is subtracted, because no pipeline causes it.
      const idle = await idleMsPerMs(daemon)
      const hooks = finishes(20)
      await sendAll(warm, hooks, daemon, sink, quick)
      await sleep(200)
      const [from, began] = [processorMs(daemon.pid), performance.now()]
      await sendAll(pipelines, hooks, daemon, sink, quick)
      // After the backend's response the daemon records that the pipeline was delivered. This work is also part of the pipeline's cost.
      await sleep(200)
      const spent = processorMs(daemon.pid) - from - idle * (performance.now() - began)
      yield { ours: (spent * 1_000) / pipelines, rival: parseMs() * 1_000 }
    }
  },
}

async function idleMsPerMs({ pid }: Running): Promise<number> {
  await sleep(500)
  const [from, began] = [processorMs(pid), performance.now()]
  await sleep(1_000)
  return (processorMs(pid) - from) / (performance.now() - began)
}

/** Returns the ms that JSON.parse takes for one webhook. */
function parseMs(): number {
  const bodies = bodiesOf(finishedPipeline(20), 64)
  const all = (): void => bodies.forEach(body => void JSON.parse(body.toString()))
  for (let n = 0; n < 20; n += 1) all()
  return timed(() => Array.from({ length: 20 }, all)) / (20 * bodies.length)
}
