// Tests the deployments on the timeline page.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { openHouse } from '../../console/house.ts'
import { report, spanOf } from './reported.ts'
import type { Timeline } from '../../../src/console/timeline/timeline-figures.ts'

const minute = 60_000
const began = Date.now() - 3 * 3_600_000

function of(id: number, status: string, environment = 'production', tier?: string): Deployment {
  const at = began + id * minute
  return {
    ...{ instance: 'https://git.example.com', project: { id: 71, path: 'team/shop' } },
    ...{ deploymentId: id, jobId: id * 10 },
    event: observedEvent({ status, at, environment, tier, user: 'grace' }),
    job: { status, finishedAt: at, span: spanOf(id * 10) },
  }
}

it('marks production deployments and failed deployments on the timeline, and links to the deploying job', async () => {
  const house = closeAfterTest(await openHouse())
  const deployments = [
    ...[of(1, 'success'), of(2, 'failed')],
    ...[of(3, 'success', 'live', 'production'), of(4, 'success', 'qa', 'testing')],
  ]
  await report(house.daemon.store, deploymentReporter, deployments)
  const query = 'span=24h&kind=deployment&project=team/shop'
  const { items } = (await (await fetch(`${house.url}/api/timeline?${query}`)).json()) as Timeline
  expect(items.map(({ title, isBad, isProduction }) => [title, isBad, isProduction])).toEqual([
    ['Deployment to qa: success', false, false],
    ['Deployment to live (production): success', false, true],
    ['Deployment to production: failed', true, true],
    ['Deployment to production: success', false, true],
  ])
  expect(items[2]).toMatchObject({ project: 'team/shop', user: 'grace', projectId: 71, pipelineId: 7, jobId: 20 })
  const page = await (await fetch(`${house.url}/timeline?kind=deployment`)).text()
  expect(page).toContain('href="/pipelines/71/7/jobs/20"')
  expect(page).toMatch(/value="deployment"\s+checked/)
})
