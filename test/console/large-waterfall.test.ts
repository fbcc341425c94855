// Tests the waterfall of a pipeline family, with the largest pipelines that are read and with filtered jobs.
import { expect, it } from 'vitest'
import { observedRun } from '../../src/model/run.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { runCard, type RunCard } from '../../src/console/pipelines/run-card.ts'
import { waterfallOf } from '../../src/console/waterfall/waterfall-rows.ts'

/** The card of a pipeline with this number of jobs in one stage. The job IDs are consecutive, starting after 10 times the pipeline's ID. */
function cardOf(id: number, jobs: number, stage: string): RunCard {
  const body = Buffer.from(pipelineEvent({ id, jobs }))
  const delivery = { event: 'Pipeline Hook', instance: 'https://git.example.com', body }
  const parsed = parseDelivery(delivery, { profile: profiles.generic, traceparent: false })
  if (parsed.outcome !== 'observation') throw new Error('the pipeline event could not be parsed')
  const run = observedRun(parsed.observation)
  const card = runCard({ run, timing: { changedAt: 0 }, firstSeenBy: {} }, Date.now)
  return { ...card, jobs: card.jobs.map((job, at) => ({ ...job, id: 10 * id + at, stage })) }
}

it('draws a family of three pipelines with 50,000 jobs each', () => {
  const child = { card: cardOf(1, 50_000, 'build'), children: [], left: 0 }
  const drawn = waterfallOf({ ...child, children: [child, { ...child }] }, 1, Date.now())
  expect(drawn.left.ofJobs).toBe(150_000)
  expect(drawn.to).toBeGreaterThan(drawn.from)
})

it('filters jobs by stage, including those after a job that triggered a pipeline', () => {
  const child = { card: cardOf(2, 2, 'deploy'), children: [], left: 0, triggeredBy: 10 }
  const family = { card: cardOf(1, 3, 'build'), children: [child], left: 0 }
  const kept = (find: string): string[] =>
    waterfallOf(family, 1, Date.now(), { find, show: 'all' }).rows.map(({ kind, id }) => `${kind} ${id}`)
  expect(kept('build').toSorted()).toEqual(['job 10', 'job 11', 'job 12', 'pipeline 1', 'pipeline 2', 'stage 10'])
  expect(kept('deploy').toSorted()).toEqual(['job 20', 'job 21', 'pipeline 1', 'pipeline 2', 'stage 20'])
})
