// Lists of runs on SQLite: they are written later than the runs, and nobody can tell.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mergeWork } from '../../src/processing/merge-observations.ts'
import { at, event, job, jobEvent, rules, t0 } from '../flow/world.ts'
import { openSqlite, openSqliteShared } from '../../src/store/sqlite/open-sqlite.ts'
import type { Observation } from '../../src/model/observation.ts'
import type { Store } from '../../src/store/ports/store.ts'

describe('the lists of an SQLite file', () => {
  let folder: string
  let store: Store
  const options = { now: () => t0, maxSize: 2 ** 30 }
  const open = (): Store => openSqlite(path.join(folder, 'pipespan.db'), options)

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pipespan-lists-'))
    store = open()
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  const observe = async (by: Pick<Store, 'runs'>, ...observations: Observation[]): Promise<unknown> =>
    by.runs.transact(mergeWork(observations, 'webhook', rules))
  const running = event('running', {}, [job(1, 'build', 'running', { started: 5 })])
  const failed = event('failed', { finishedAt: at(60) }, [job(1, 'build', 'failed', { started: 5, finished: 50 })])
  /** How many have the status. */
  const withStatus = async (by: Store, status: string): Promise<number> => by.views.countInStatus([status])
  const waiting = (): unknown => {
    const file = new DatabaseSync(path.join(folder, 'pipespan.db'), { readOnly: true })
    const { runs } = file.prepare('SELECT count(*) AS runs FROM unlisted_runs').get() ?? {}
    file.close()
    return runs
  }

  it('are as the runs are whenever somebody looks', async () => {
    await observe(store, running)
    expect(await withStatus(store, 'running')).toBe(1)
    await observe(store, failed)
    expect([await withStatus(store, 'running'), await withStatus(store, 'failed')]).toEqual([0, 1])
    expect(waiting()).toBe(0)
  })

  it('are written for many runs at once, and not for news of jobs alone', async () => {
    await observe(store, running)
    expect(waiting()).toBe(1)
    await withStatus(store, 'running')
    await observe(store, jobEvent(job(1, 'build', 'success', { started: 5, finished: 40 })))
    expect(waiting()).toBe(0)
    const many = Array.from({ length: 700 }, (_, number) => event('running', {}, [], {}, 100 + number))
    for (let from = 0; from < many.length; from += 16) await observe(store, ...many.slice(from, from + 16))
    expect(waiting()).toBe(700 - 512)
    expect(await withStatus(store, 'running')).toBe(701)
  })

  it('are written after a start for what an earlier process left, jobs read for it where nothing else says when a run began', async () => {
    const { createdAt: _, ...times } = running.pipeline?.times ?? {}
    await observe(store, { ...running, pipeline: { facts: running.pipeline!.facts, times } })
    await store.close()
    store = open()
    const { runs } = await store.views.search({ limit: 10 })
    expect(runs.map(({ run }) => run.key.pipelineId)).toEqual([7])
    expect((await store.views.search({ limit: 10, since: t0, until: t0 + 1 })).runs).toHaveLength(1)
    expect(waiting()).toBe(0)
  })

  it('are as the runs are when another process has changed them meanwhile', async () => {
    const other = openSqliteShared(path.join(folder, 'pipespan.db'), options)
    await observe(store, running)
    await observe(other, failed)
    expect([await withStatus(store, 'running'), await withStatus(store, 'failed')]).toEqual([0, 1])
    await observe(other, event('running', {}, [], {}, 8))
    expect(await withStatus(store, 'running')).toBe(1)
    await other.close()
  })

  it('say nothing of a change that was rolled back', async () => {
    await observe(store, running)
    const broken = {
      ...mergeWork([failed], 'webhook', rules)[0]!,
      key: { ...failed.key, pipelineId: 8 },
      decide: (): never => {
        throw new Error('broken')
      },
    }
    await expect(store.runs.transact([...mergeWork([failed], 'webhook', rules), broken])).rejects.toThrow('broken')
    expect([await withStatus(store, 'running'), await withStatus(store, 'failed')]).toEqual([1, 0])
  })

  it('forget a run that was pruned before it was listed', async () => {
    await observe(store, failed)
    const file = new DatabaseSync(path.join(folder, 'pipespan.db'))
    file.exec('DELETE FROM runs')
    file.close()
    expect((await store.views.search({ limit: 10 })).runs).toEqual([])
    expect(waiting()).toBe(0)
  })
})
