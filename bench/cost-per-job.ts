// Whether a job in a pipeline of 2,000 costs more than one in a pipeline of 20: webhook to encoded trace.
import { encoded, partsOf, timed } from './work.ts'
import { finishedPipeline } from './payload.ts'
import type { Question } from './question.ts'

const small = finishedPipeline(20).body(1)
const large = finishedPipeline(2_000).body(1)

export const costPerJob: Question = {
  name: 'CPU cost per job in a pipeline of 2,000 jobs',
  against: 'the cost per job in one of 20',
  asked: { atMost: 1.2 },
  unit: 'µs',
  rounds: { full: 11, quick: 5 },
  round: () => ({
    ours: timed(2, () => encoded(partsOf(large))) / 2_000,
    rival: timed(100, () => encoded(partsOf(small))) / 20,
  }),
}
