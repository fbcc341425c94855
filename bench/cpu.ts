// Processor time from the webhook to the sent request, against JSON.parse of the same webhooks.
import { setTimeout as sleep } from 'node:timers/promises'
import { countsOf, processorMs, startDaemon, startServer, type Running } from './processes.ts'
import { load } from './load.ts'
import { bodiesOf, finishedPipeline } from './payload.ts'
import { timed } from './work.ts'
import type { Question } from './question.ts'

export const cpu: Question = {
  id: 'cpu',
  name: 'processor time of a finished pipeline, from its webhook to the sent request',
  against: 'JSON.parse of its webhook',
  asked: { atMost: 11 },
  unit: 'µs',
  times: { full: 5, quick: 1 },
  terms: quick =>
    `${quick ? '1,000' : '10,000'} pipelines of 20 jobs, each posted as one webhook by another process; ` +
    'user and system time of the whole daemon, all threads, until the backend has them all; settle delay 0, traces.',
  rounds: async function* (quick) {
    const [warm, pipelines] = quick ? [500, 1_000] : [6_000, 10_000]
    await using sink = await startServer('sink.ts')
    for (;;) {
      await using daemon = await startDaemon({ backend: sink.port })
      // What the process spends on itself is no part of a pipeline.
      const idle = await idleMsPerMs(daemon)
      const template = finishedPipeline(20)
      let pipeline = 0
      const before = (await countsOf(sink)).pipelines
      const post = async (upTo: number): Promise<void> => {
        const end = new AbortController()
        const { ended } = load({
          ports: [daemon.port],
          next: () =>
            pipeline < upTo ? { event: 'Pipeline Hook', template, pipeline: pipeline++, isFinish: true } : undefined,
          signal: end.signal,
        })
        while ((await countsOf(sink)).pipelines < before + upTo) await Promise.race([ended, sleep(20)])
        end.abort()
        await ended
        // What follows an answer is part of its pipeline: that it is delivered is noted.
        await sleep(200)
      }
      await post(warm)
      const [from, began] = [processorMs(daemon.pid), performance.now()]
      await post(warm + pipelines)
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

/** Milliseconds of one. */
function parseMs(): number {
  const bodies = bodiesOf(finishedPipeline(20), 64)
  const all = (): void => bodies.forEach(body => void JSON.parse(body.toString()))
  for (let n = 0; n < 20; n += 1) all()
  return timed(() => Array.from({ length: 20 }, all)) / (20 * bodies.length)
}
