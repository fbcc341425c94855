// Measures whether a job in a pipeline of 2,000 jobs costs more than a job in a pipeline of 20, from the webhook to the encoded trace.
import { encoded, chunksOf } from './work.ts'
import { bodiesOf, finishedPipeline, pipelineEvent } from './payload.ts'
import { plansOf, type Mix } from './plans.ts'
import type { Question } from './question.ts'

export const costPerJob: Question = {
  id: 'cost-per-job',
  name: 'cost of one job in a pipeline of 2,000 jobs',
  against: 'the cost of one job in a pipeline of 20 jobs',
  asked: { atMost: 1.2 },
  unit: 'µs',
  times: { full: 15, quick: 5 },
  terms: () =>
    'In one process, from the bytes of the webhook to the bytes of the request: parsing, merging, mapping, encoding.',
  rounds: async function* () {
    // The same number of jobs is processed on both sides of the comparison: in large pipelines and in small ones.
    const large = { jobs: 4_000, bodies: bodiesOf(finishedPipeline(2_000), 2) }
    const small = { jobs: 4_000, bodies: bodiesOf(finishedPipeline(20), 200) }
    const others = {
      'in a pipeline of 200 jobs': mixed('twoHundred', 20),
      'in one of 5,000': { jobs: 5_000, bodies: bodiesOf(finishedPipeline(5_000), 1) },
      "in a company's mix of pipelines": mixed('company', 150),
    }
    for (let n = 0; n < 2; n += 1) for (const some of [large, small]) await microseconds(some)
    for (;;) {
      const [ours, rival] = [await microseconds(large), await microseconds(small)]
      const seen: string[] = []
      for (const [which, some] of Object.entries(others))
        seen.push(`${(await microseconds(some)).toFixed(1)} µs ${which}`)
      yield { ours, rival, seen: `a job costs ${seen.join(', ')}` }
    }
  },
}

interface Some {
  readonly jobs: number
  readonly bodies: readonly Buffer[]
}

function mixed(mix: Mix, count: number): Some {
  const plans = plansOf(mix, count)
  const jobs = plans.reduce((sum, plan) => sum + plan.jobs.length, 0)
  return { jobs, bodies: plans.map((plan, n) => pipelineEvent(plan, 1).body(n)) }
}

/** Returns the time per job in microseconds. */
async function microseconds({ jobs, bodies }: Some): Promise<number> {
  const began = performance.now()
  for (const body of bodies) encoded(await chunksOf(body))
  return ((performance.now() - began) * 1_000) / jobs
}
