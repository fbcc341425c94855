// Tests figures of projects that have the same id on two platforms: they are never added up, and links and queries name the platform.
import { beforeEach, describe, expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { costsView } from '../../../src/features/trends/cost/figures.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { createFixFirst } from '../../../src/features/trends/fix-first/view.ts'
import { everything } from '../../../src/core/store/ports/scope.ts'
import { jobsTable, projectsTable } from '../../../src/features/trends/pages/tables.ts'
import { t0 } from '../../flow/world.ts'
import { trendOrders } from '../../../src/features/trends/counting/figures.ts'
import { trendsOf } from '../../../src/features/trends/pages/figures.ts'
import type { AskedTrends } from '../../../src/features/trends/pages/figures.ts'
import type { PagesParts } from '../../../src/console/ports.ts'

const minute = 60_000
const cloud = { instance: 'https://git.example.com', projectId: 7, project: 'org/app' }
const onprem = { instance: 'https://git.internal.example.com', projectId: 7, project: 'infra/zebra' }

/** Returns what one pipeline with one job adds to the figures. */
function counted(of: typeof cloud, failed: boolean, endedAt: number): object {
  const ran = { failed, tookMs: minute }
  const used = { worker: '', totalMs: minute, cost: failed ? 1 : 5 }
  const jobs = [{ name: 'unit', endedAt, ran, used }]
  return { ...of, branch: 'default', source: 'push', pipelineName: '', pipeline: { endedAt, ...ran }, jobs }
}

describe.each(bothDatabases())('projects of the same id on %s', (_, bench) => {
  let parts: PagesParts

  beforeEach(async () => {
    const store = await closeAfterTest(await bench()).open()
    const some = [
      ...Array.from({ length: 3 }, () => counted(cloud, false, t0 - 2 * minute)),
      ...Array.from({ length: 5 }, () => counted(onprem, true, t0 - minute)),
    ]
    const insert = 'INSERT INTO figures_added (project_id, content) VALUES (7, ?1)'
    await store.on(sql => sql.change(insert, [JSON.stringify(some)]))
    await countFigures(store)
    parts = { ...store.reads(everything), now: () => t0, fillings: [] } as unknown as PagesParts
  })

  const trends = async (asked: AskedTrends = {}) => trendsOf(parts, {}, { span: '24h', ...asked }, t0)
  const costs = async (asked: { projectId?: number; instance?: string } = {}) =>
    costsView(parts, { costUnit: 'EUR', hasPrices: true }, { span: '7d', ...asked })

  it('have figures of their own in every table of trends', async () => {
    for (const by of trendOrders) {
      const { projects, jobs } = await trends({ projects: by, jobs: by })
      for (const lines of [projects, jobs])
        for (const { project, runs, failed } of lines)
          expect([project, runs, failed]).toEqual(project === 'org/app' ? ['org/app', 3, 0] : ['infra/zebra', 5, 5])
    }
    const all = await trends()
    expect(all.projects.map(({ instance }) => instance)).toEqual([onprem.instance, cloud.instance])
    expect(all.jobs).toHaveLength(2)
    expect(all.subgroups.map(({ name, runs }) => [name, runs])).toEqual([
      ['infra/', 5],
      ['org/', 3],
    ])
    const text = [projectsTable(all, ''), jobsTable(all, '')].join('')
    const query = new URLSearchParams({ instance: cloud.instance }).toString()
    expect(text.split(query)).toHaveLength(3)
  })

  it('have trends of their own, by default those of the project with the newest figures', async () => {
    const shown = async (asked: AskedTrends) => {
      const { instance, project, total, jobs } = await trends({ projectId: 7, ...asked })
      return [instance, project?.name, total.runs, total.failed, jobs.map(({ runs }) => runs)]
    }
    expect(await shown({ instance: cloud.instance })).toEqual([cloud.instance, 'org/app', 3, 0, [3]])
    expect(await shown({ instance: cloud.instance, job: 'unit' })).toEqual([cloud.instance, 'org/app', 3, 0, [3]])
    const [, ...newest] = await shown({})
    expect([
      ['org/app', 3, 0, [3]],
      ['infra/zebra', 5, 5, [5]],
    ]).toContainEqual(newest)
    expect((await trends({ projectId: 7, instance: 'https://other.example' })).points).toEqual([])
  })

  it('have costs of their own', async () => {
    const { projects, jobs, subgroups } = await costs()
    for (const lines of [projects, jobs, subgroups]) expect(lines.map(({ cost }) => cost)).toEqual([15, 5])
    expect(projects.map(({ project }) => project)).toEqual(['org/app', 'infra/zebra'])
    const own = await costs({ projectId: 7, instance: onprem.instance })
    expect([own.project?.name, own.total?.cost, own.days.length, own.instance]).toEqual([
      ...['infra/zebra', 5, 1],
      onprem.instance,
    ])
  })

  it('are told apart in the list of what to fix first', async () => {
    const { fixes } = await createFixFirst(parts, { unit: 'EUR' })()
    expect(fixes).toMatchObject([{ project: 'infra/zebra', weekMs: 5 * minute, why: 'Failed in all 5 runs.' }])
    expect(fixes[0]?.cost).toBeCloseTo(5)
  })
})
