// Tests every store with one damaged row among others. Code that reads many rows continues after the damaged one, which is logged once and counted.
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { createPollContext } from '../../../src/core/find/poll-context.ts'
import {
  day,
  everything,
  event,
  instance,
  job,
  at,
  rules,
  snapshotterWith,
  settlerOf,
  takeInOf,
} from '../../flow/world.ts'
import { openBook } from '../../../src/core/find/poll-book.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { documentBytes } from '../../../src/core/store/sql/stored-json.ts'
import { deliver, pipelineIdOf } from '../../support/of-run.ts'
import { opened, type BareBench } from './benches.ts'
import type { Log } from '../../../src/lib/log.ts'
import type { PlatformClient } from '../../../src/platform/port.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const exportQueue = { destination: 'default', signal: 'traces' } as const
const all = [1, 2, 3, 4, 5]
const bad = 3
const others = all.filter(id => id !== bad)
const half = `'{"half": '`
const settings = telemetrySettings({ profiles })
const ownerOfTotals = { key: { instance, projectId: 3 }, project: { id: 3 }, profile: 'otel', maxSeries: 100 }

export function damageExercise(name: string, bench: () => Promise<BareBench>): void {
  describe(`a damaged row on ${name}`, () => {
    let here: BareBench
    let store: Store
    let log: Log
    let lines: Record<string, unknown>[]

    beforeEach(async () => {
      lines = []
      log = pino({}, { write: line => lines.push(JSON.parse(line) as Record<string, unknown>) })
      ;({ here, store } = await opened(bench))
    })

    /** Returns the rows that the log names, and expects the store to have counted the same number. */
    function named(): Record<string, unknown>[] {
      const found = lines.filter(({ msg }) => msg === 'a row of the store is damaged')
      expect(store.damaged.count).toBe(found.length)
      return found
    }

    const snapshotter = snapshotterWith({ measure: chunk => measure(chunk, settings) })

    async function observe(ids: readonly number[], status = 'success'): Promise<void> {
      const observed = ids.map(id =>
        event(
          status,
          status === 'success' ? { finishedAt: at(60) } : {},
          [job(id * 10, 'build', status, { finished: 50 })],
          {},
          id,
        ),
      )
      await store.runs.transact(mergeObservations(observed, 'webhook', rules))
    }

    async function settle(): Promise<number> {
      const clock = { now: () => here.now(), sleep: async () => undefined }
      const settler = settlerOf(store, { perTransaction: 16, log, snapshotter, clock })
      here.move(rules.settle)
      await settler.drain()
      return settler.counters.postponed
    }

    /** Changes a row by SQL. The store is then reopened, because rows cached in memory would hide the change. */
    async function damage(sql: string): Promise<void> {
      await store.close()
      lines = []
      await here.sql(sql)
      store = await here.open({ log })
    }

    async function leased(): Promise<number[]> {
      const items = await deliver(store, exportQueue)
      return items.map(pipelineIdOf).sort((a, b) => a - b)
    }

    it.each([
      ['row', `UPDATE runs SET project = ${half} WHERE pipeline_id = ${bad}`],
      ['document', `UPDATE runs SET document = substr(document, 1, 20) WHERE pipeline_id = ${bad}`],
    ])(
      'does not prune a run with a damaged row (%s), because its tombstone would be lost, but prunes the others',
      async (_what, sql) => {
        await observe(all)
        await settle()
        expect(await leased()).toEqual(all)
        await damage(sql)
        here.move(30 * day)
        for (const pruned of [others.length, 0]) {
          expect(await store.pruning.runs(here.now() - day, 100, undefined)).toMatchObject({
            pruned,
            remembered: pruned,
          })
        }
        expect((await store.runs.count()).runs).toBe(1)
        expect(named()).toMatchObject([{ table: 'runs', instance, pipeline_id: bad }])
      },
    )

    it("omits a total with a damaged row, and restarts it with the project's next pipeline", async () => {
      await observe([1, 2])
      await settle()
      const before = (await store.totals.read(10)).projects[0]?.series ?? []
      const { metric, attributes } = before.find(({ amount }) => amount.kind === 'sum')!
      const ofSeries = `metric = '${metric}' AND attributes = '${attributes}'`
      await damage(`UPDATE totals SET amount = ${half} WHERE ${ofSeries}`)
      expect((await store.totals.read(10)).projects[0]?.series).toHaveLength(before.length - 1)
      const startedBefore = here.now()
      await observe([3])
      expect(await settle()).toBe(0)
      const after = (await store.totals.read(10)).projects[0]?.series ?? []
      expect(after).toHaveLength(before.length)
      const anew = after.find(one => one.metric === metric && one.attributes === attributes)
      expect(anew?.amount).toMatchObject({ kind: 'sum', by: 1 })
      expect(anew?.startedAt).toBeGreaterThanOrEqual(startedBefore - 1)
      expect(named()).toMatchObject([{ table: 'totals', metric }])
    })

    it.each([
      ['an unexpected format', documentBytes({ bounds: [], projects: [] })],
      ['an increment without an amount', documentBytes([{ ...ownerOfTotals, increments: [{ metric: 'm' }] }])],
      ['not a document', Buffer.from('half')],
    ])(
      'counts a damaged row of pending increments (%s), and adds the rows after it to the totals',
      async (_what, content) => {
        const insert = 'INSERT INTO totals_added (added_at, content) VALUES (?1, ?2)'
        await store.on(sql => sql.change(insert, [here.now(), content]))
        await observe([1])
        await settle()
        await damage('SELECT 1')
        expect((await store.totals.read(10)).projects[0]?.series.length).toBeGreaterThan(0)
        expect(named()).toMatchObject([{ table: 'totals_added', id: 1 }])
      },
    )

    it.each([
      ['totals', `UPDATE totals_projects SET facts = ${half} WHERE project_id = 3`, { projects: 0, active: 1 }],
      ['active runs', `UPDATE runs SET project = ${half} WHERE pipeline_id = 9`, { projects: 1, active: 0 }],
      ['attributes', `UPDATE totals SET attributes = ${half}`, { projects: 1, active: 1 }],
    ])("continues reading totals if a row of a project's %s is damaged", async (_what, sql, expected) => {
      await observe([1])
      await settle()
      await store.totals.read(10)
      await observe([9], 'running')
      await store.totals.fold()
      await damage(sql)
      const { projects } = await store.totals.read(10)
      expect({ projects: projects.length, active: (await store.totals.active()).length }).toEqual(expected)
      expect(named().length).toBeGreaterThan(0)
    })

    it('treats a damaged document as missing, and lists all other documents', async () => {
      const cursor = { instance, seen: 1, childrenSeen: 1, ranAt: 1, active: [] }
      for (const project of [1, 2, 3]) await store.repositories.polledProjects.put({ ...cursor, project })
      const damaged = `poll/project ${instance} 1`
      await damage(`UPDATE key_value SET value = ${half} WHERE name = '${damaged}'`)
      // The row's value is JSON, but not a valid document for a polled project.
      await damage(`UPDATE key_value SET value = '{"project":3}' WHERE name = 'poll/project ${instance} 3'`)
      const { polledProjects } = store.repositories
      expect([...(await openBook(polledProjects, instance)).entries()].map(({ project }) => project)).toEqual([2])
      expect(await polledProjects.get({ instance, project: 1 })).toBeUndefined()
      await polledProjects.change({ instance, project: 1 }, known => {
        expect(known).toBeUndefined()
        return { document: { ...cursor, project: 1, seen: 7 }, result: undefined }
      })
      expect(await polledProjects.get({ instance, project: 1 })).toMatchObject({ seen: 7 })
      await polledProjects.prune(({ project }) => project === 2)
      expect((await polledProjects.all()).map(({ project }) => project)).toEqual([1])
      expect(
        named()
          .map(({ name }) => name)
          .sort(),
      ).toEqual([damaged, `poll/project ${instance} 3`])
    })

    it("finds the other runs in lists, in the poller and in the queue if one run's row is damaged", async () => {
      await observe(all, 'running')
      await damage(`UPDATE runs SET document = substr(document, 1, 20) WHERE pipeline_id = ${bad}`)
      const { runs } = await store.views.search({ limit: 10 })
      expect(runs.map(({ run }) => run.key.pipelineId).sort()).toEqual(others)
      expect(await store.runs.get({ instance, pipelineId: bad })).toBeUndefined()
      const context = createPollContext({
        client: { instance } as PlatformClient,
        ...{ runs: store.runs, selection: everything, source: 'poller', clock: systemClock, log },
        rules: { blockedAfter: day, staleAfter: day },
        signal: new AbortController().signal,
      })
      for (let round = 0; round < 2; round += 1) {
        await context.discover(
          all.map(id => ({
            id,
            project: { id: 3, defaultBranch: 'main' },
            status: 'success',
            updatedAt: at(90 + round),
          })),
        )
      }
      for (const pipelineId of others) {
        expect((await store.runs.get({ instance, pipelineId }))?.firstSeenBy.poller).toBeDefined()
      }
      const unwritten = lines.filter(({ msg }) => msg === 'a discovered pipeline cannot be stored')
      expect(unwritten).toMatchObject([{ pipelineId: bad }])
      expect(JSON.stringify(unwritten)).not.toContain('half')
      expect(named()).toHaveLength(1)
    })

    it("exports child pipelines without a parent if their parent's row is damaged", async () => {
      await observe([bad], 'running')
      const child = { sourcePipeline: { pipelineId: bad, jobId: bad * 10, projectId: 3 } }
      await store.runs.transact(
        mergeObservations(
          [event('success', { finishedAt: at(60) }, [job(990, 'build', 'success')], child, 99)],
          'webhook',
          rules,
        ),
      )
      await damage(`UPDATE runs SET project = ${half} WHERE pipeline_id = ${bad}`)
      here.move(day)
      expect(await settle()).toBe(0)
      expect(await leased()).toEqual([99])
    })

    it('quarantines only the deliveries that report a run with a damaged row', async () => {
      const takeIn = takeInOf(store, { snapshotter, log })
      const take = async (key: string, id: number): Promise<unknown> =>
        takeIn.take({ key, event: 'Pipeline Hook', source: 'webhook', body: Buffer.from(pipelineEvent({ id })) })
      await take('a', bad)
      await here.sql(`UPDATE runs SET project = ${half} WHERE pipeline_id = ${bad}`)
      expect(await Promise.all([take('b', bad), take('c', 98), take('d', bad)])).toEqual(Array(3).fill('accepted'))
      expect(takeIn.counters).toMatchObject({ processed: 2, unparseable: 2 })
      expect(await store.runs.get({ instance, pipelineId: 98 })).toBeDefined()
      expect(await store.quarantine.count()).toBe(2)
      const [kept] = await store.quarantine.list(10)
      expect(kept?.reason).toMatch(/is damaged/)
    })
  })
}
