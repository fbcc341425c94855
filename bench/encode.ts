// Encoding a pipeline's trace, against JSON.parse of the webhook it came from.
import { encoded, partsOf, timed } from './work.ts'
import { finishedPipeline } from './payload.ts'
import type { Question } from './question.ts'

const body = finishedPipeline(20).body(1)
const parts = partsOf(body)

export const encode: Question = {
  name: "mapping and encoding a pipeline's trace (20 jobs)",
  against: 'JSON.parse of its webhook',
  asked: { atMost: 1.5 },
  unit: 'µs',
  rounds: { full: 25, quick: 9 },
  round: () => ({
    ours: timed(100, () => encoded(parts)),
    rival: timed(100, () => JSON.parse(body.toString()) as unknown),
  }),
}
