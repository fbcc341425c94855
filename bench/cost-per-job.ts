// Whether a job in a pipeline of 2,000 costs more than one in a pipeline of 20: webhook to encoded trace.
import { encoded, partsOf, timed } from './work.ts'
import { bodiesOf, finishedPipeline } from './payload.ts'
import type { Question } from './question.ts'

export const costPerJob: Question = {
  id: 'cost-per-job',
  name: 'cost of one job of a pipeline of 2,000',
  against: 'the cost of one job of a pipeline of 20',
  asked: { atMost: 1.2 },
  unit: 'µs',
  times: { full: 15, quick: 5 },
  terms: () =>
    'In one process, from the bytes of the webhook to the bytes of the request: parsed, merged, mapped, encoded.',
  rounds: async function* () {
    // As many jobs, and as many different ones, on both sides.
    const large = bodiesOf(finishedPipeline(2_000), 2)
    const small = bodiesOf(finishedPipeline(20), 200)
    const all = (bodies: readonly Buffer[]): number => timed(() => bodies.forEach(body => encoded(partsOf(body))))
    for (let n = 0; n < 2; n += 1) all([...large, ...small])
    for (;;) yield { ours: all(large) / 4, rival: all(small) / 4 }
  },
}
