// Tests when old trends and costs are deleted, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { t0 } from '../../flow/world.ts'
import { bothDatabases } from '../../core/store/benches.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { lockNames } from '../../../src/core/store/sql/steps.ts'
import { day, hour } from '../../../src/features/trends/counting/figures.ts'
import { openFigures, type FiguresBench } from './figures-bench.ts'

describe.each(bothDatabases())('pruning of figures over time on %s', (database, bench) => {
  let here: FiguresBench['here']
  let store: FiguresBench['store']
  let trends: FiguresBench['trends']
  let observe: FiguresBench['observe']
  let takeSnapshot: FiguresBench['takeSnapshot']
  let prune: FiguresBench['prune']

  beforeEach(async () => {
    ;({ here, store, trends, observe, takeSnapshot, prune } = await openFigures(bench))
  })

  it('deletes hourly figures after some days, and keeps daily figures', async () => {
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    here.move(100_000)
    await countFigures(store)
    here.move(5 * day)
    expect(await prune(400 * day)).toBe(2)
    const query = { since: t0 - day, until: t0 + day }
    expect(await trends.series({}, { ...query, step: hour })).toEqual([])
    expect(await trends.series({}, { ...query, step: day })).toMatchObject([{ runs: 1 }])
    // Daily figures are kept for the configured time.
    expect(await prune(6 * day)).toBe(0)
    here.move(2 * day)
    expect(await prune(6 * day)).toBe(2)
    expect(await trends.series({}, { ...query, step: day })).toEqual([])
  })

  it('deletes all old figures, even if one transaction is not enough', async () => {
    const row = `INSERT INTO costs SELECT 0, n, 'unit', '', '', '', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n`
    await here.sql(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500) ${row}`)
    await here.sql(
      `INSERT INTO costs SELECT project_id, 1, 'e2e', '', '', '', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM costs`,
    )
    expect(await prune(day)).toBe(3_000)
  })

  it.runIf(database === 'PostgreSQL')('deletes no figures that another process is adding', async () => {
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    await countFigures(store)
    here.move(5 * day)
    const other = await here.open()
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<undefined>()
    const done: string[] = []
    const adding = other.on(async sql =>
      sql.transaction(function* (within) {
        yield* lockNames(['trends'], within)
        locked(undefined)
        yield ['SELECT pg_sleep(0.3)', []]
        done.push('added')
      }),
    )
    await isLocked
    expect(await prune(400 * day)).toBe(2)
    done.push('removed')
    await adding
    expect(done).toEqual(['added', 'removed'])
  })
})
