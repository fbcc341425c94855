// Measures the time to encode a pipeline's trace, relative to JSON.parse of the webhook that reported the pipeline.
import { encoded, chunksOf, timed } from './work.ts'
import { bodiesOf, finishedPipeline } from './payload.ts'
import type { Question } from './question.ts'

export const encode: Question = {
  id: 'encode',
  name: "mapping and encoding a pipeline's trace",
  against: 'JSON.parse of its webhook',
  asked: { atMost: 2 },
  unit: 'µs',
  times: { full: 25, quick: 9 },
  terms: () => '64 different pipelines of 20 jobs, one after another; from the snapshot to the bytes of the request.',
  rounds: async function* () {
    const bodies = bodiesOf(finishedPipeline(20), 64)
    const chunks = await Promise.all(bodies.map(chunksOf))
    const turns = [0, 1, 2]
    // The code is warmed up first, because the benchmark measures a daemon that has been running for a while.
    for (let n = 0; n < 20; n += 1) {
      chunks.forEach(encoded)
      bodies.forEach(parsed)
    }
    for (;;) {
      const ours = timed(() => turns.forEach(() => chunks.forEach(encoded)))
      const rival = timed(() => turns.forEach(() => bodies.forEach(parsed)))
      const each = 1_000 / (turns.length * bodies.length)
      yield { ours: ours * each, rival: rival * each }
    }
  },
}

function parsed(body: Buffer): unknown {
  return JSON.parse(body.toString())
}
