// The waterfall of the largest pipelines that are read.
import { expect, it } from 'vitest'
import { observedRun } from '../../src/model/run.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { profiles } from '../../src/app/profile.ts'
import { runCard } from '../../src/pages/pipelines/run-card.ts'
import { waterfallOf } from '../../src/pages/waterfall/waterfall-rows.ts'

it('draws a family of three pipelines with 50,000 jobs each', () => {
  const body = Buffer.from(pipelineEvent({ id: 1, jobs: 50_000 }))
  const delivery = { event: 'Pipeline Hook', instance: 'https://git.example.com', body }
  const parsed = parseDelivery(delivery, { profile: profiles.generic, traceparent: false })
  if (parsed.outcome !== 'observation') throw new Error('the pipeline event is valid')
  const run = observedRun(parsed.observation)
  const card = runCard({ run, timing: { changedAt: 0 }, firstSeenBy: {} }, Date.now)
  const child = { card, children: [], left: 0 }
  const drawn = waterfallOf({ ...child, children: [child, { ...child }] }, 1, Date.now())
  expect(drawn.left.ofJobs).toBe(150_000)
  expect(drawn.to).toBeGreaterThan(drawn.from)
})
