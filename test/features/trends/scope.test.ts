// Tests that users see figures over time and costs only for the projects in their scope, as if there were no other projects.
import { expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { costGroups, type CostReads } from '../../../src/features/trends/cost/rows.ts'
import { costsIn } from '../../../src/features/trends/cost/sql.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { day, trendOrders, type TrendViews } from '../../../src/features/trends/counting/figures.ts'
import { everything } from '../../../src/core/store/ports/scope.ts'
import { instance, t0 } from '../../flow/world.ts'
import { manyRuns } from '../../core/store/many-runs.ts'
import { trendsIn } from '../../../src/features/trends/reading/sql.ts'

const period = { since: t0 - 30 * day, until: t0 + day }

/** Returns the results of all queries. With `group`, the queries are limited to the projects of that group. */
async function answers(trends: TrendViews, costs: CostReads, group?: string): Promise<unknown> {
  const query = { step: day, ...period, group } as const
  const retained = await trends.retained({ ...query, ref: 'main' })
  return {
    all: [await trends.series({}, query), await trends.series({ projectId: 100, job: 'unit' }, query)],
    projects: await Promise.all(trendOrders.map(async by => trends.projects(by, query, 5))),
    jobs: await Promise.all(trendOrders.map(async by => trends.jobs(by, query, 5))),
    projectBranches: [await trends.projectBranches(query, 10), await trends.names(query, 10)],
    retained: [retained.pipelines, await retained.figures.series({}, query)],
    costs: await Promise.all(costGroups.map(async by => costs.lines(by, { ...period, group }, 50))),
  }
}

it.each(bothDatabases())('returns only the figures of the projects in scope on %s', async (_, bench) => {
  const here = closeAfterTest(await bench())
  const store = await here.open()
  await manyRuns({ store, runs: 200, until: t0, exportQueues: [] })
  await countFigures(store)
  const all = store.reads(everything)
  const ofShop = await answers(trendsIn(all), costsIn(all), 'acme/shop/')
  const own = store.reads({ bounds: 'own', sees: ({ path }) => path.startsWith('acme/shop/') })
  expect(await answers(trendsIn(own), costsIn(own))).toEqual(ofShop)
  const hidden = store.reads({ bounds: 'hidden', sees: ({ path }) => !path.startsWith('acme/shop/') })
  expect(await trendsIn(hidden).series({ instance, projectId: 100 }, { step: day, ...period })).toEqual([])
  // The scope of a page that is filtered by a configured attribute.
  const paths = new Set((await all.views.projects(50)).filter(path => path.startsWith('acme/shop/')))
  const filtered = { on: <T extends object>(make: Parameters<typeof all.on<T>>[0]) => all.on(make, paths) }
  expect(await answers(trendsIn(filtered), costsIn(filtered))).toEqual(ofShop)
  const nobody = store.reads({ bounds: 'own', sees: () => false })
  expect(await trendsIn(nobody).series({}, { step: day, ...period })).toEqual([])
})
