// Tests that the pages' queries for figures over time and costs use an index.
import { costGroups } from '../../../src/features/trends/cost/rows.ts'
import { costsOn } from '../../../src/features/trends/cost/sql.ts'
import { day, hour, trendOrders } from '../../../src/features/trends/counting/figures.ts'
import { instance, t0 } from '../../flow/world.ts'
import { queriesUseIndexes } from '../../core/store/query-plans.ts'
import { trendsOn } from '../../../src/features/trends/reading/sql.ts'
import { trendTables } from '../../../src/features/trends/store-part.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import { viewsWithin } from '../../../src/core/store/read-models/reads.ts'
import type { Statements } from '../../../src/core/store/sql/statements.ts'

async function askAll(statements: Statements): Promise<void> {
  const reading = unbounded(statements)
  const trends = trendsOn(reading)
  const costs = costsOn(reading)
  const query = { step: day, since: t0 - 30 * day, until: t0 } as const
  await trends.series({}, { ...query, step: hour })
  await trends.series({ projectId: 100, job: 'unit' }, query)
  const kind = { branch: 'default', source: 'push', pipelineName: 'Nightly' } as const
  await trends.series({}, { ...query, ...kind })
  await trends.extent({})
  await trends.extent({ projectId: 100, job: 'unit' })
  for (const projectId of [undefined, 100]) {
    await trends.names({ ...query, projectId }, 20)
    for (const runner of [undefined, 'a runner']) {
      for (const ref of [undefined, 'main']) await trends.retained({ ...query, ...kind, projectId, ref, runner })
    }
  }
  await trends.ofJobs({ instance: instance, projectId: 100 }, ['', 'unit', 'lint'], query)
  for (const by of [...trendOrders, 'broken'] as const) {
    await trends.projects(by, query, 20)
    await trends.jobs(by, query, 10)
    await trends.jobs(by, { ...query, ...kind, projectId: 100 }, 10)
  }
  for (const by of costGroups) {
    for (const projectId of [undefined, 100]) await costs.lines(by, { since: t0 - 30 * day, until: t0, projectId }, 20)
  }
  for (const projectId of [undefined, 100])
    await costs.retained({ since: t0 - 30 * day, until: t0, projectId, limit: 20, max: 100 })
  const views = viewsWithin(reading, [trendTables])
  for (const project of [undefined, 'acme/shop/api']) await views.search({ job: 'unit', project, limit: 20 })
}

queriesUseIndexes({
  askAll,
  // Figures are stored for a long time, so a search that does not start at the requested time would read all figures.
  isScan: (_, detail) => (detail.startsWith('SEARCH trends') ? !detail.includes('bucket>') : undefined),
})
