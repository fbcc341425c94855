// Tests the counting of changes (merge requests): half a year of simulated changes, whose figures are known, is counted exactly, in whatever order
// the changes are reported.
import { countedStep } from '../../../src/features/deployments/line-step.ts'
import { changes as storedChanges, changeReporter } from '../../../src/features/deployments/sql/changes.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import { chunkOf } from '../../support/of-run.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { changeStates } from '../../../src/features/deployments/model/change.ts'
import type { ChangeState, ChangeMeasure } from '../../../src/features/deployments/model/change.ts'
import { changePayload, type ChangeAction, type SimChange } from '../../../src/simulator/platform/events.ts'
import type { Counter } from '../../../src/features/deployments/counter.ts'
import {
  changeOf,
  mutated,
  places,
  simulatedChange,
  type ObservedEvent,
  type SimulatedChange,
} from './simulated-changes.ts'
import { countIn, countingOn, delta, settings } from './reported.ts'
import { countedChanges, createOnceCounter } from '../../../src/features/deployments/counter.ts'
import { day, hour, instance, minute, second, t0 } from '../../flow/world.ts'
import { isEvent } from '../../../src/model/event.ts'
import { isFull } from '../../full.ts'
import { projectChanges } from '../../../src/features/deployments/metrics.ts'
import { longBounds } from '../../../src/model/totals.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { bothDatabases, type BareBench } from '../../core/store/benches.ts'
import { projects, users } from '../../../src/simulator/platform/world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { ProjectMetrics } from '../../../src/core/telemetry/metrics/cumulative.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const rules = {
  settle: second,
  blockedAfter: hour,
  staleAfter: day,
  steps: [countedStep({ afterEvent: countIn, afterSnapshot: countIn, change: countIn })],
}

describe.each(bothDatabases())('counting changes on %s', (_name, bench) => {
  let here: BareBench
  let store: Store
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
  })

  async function known(): Promise<readonly ProjectMetrics[]> {
    const options = { vcsMetrics: true, leadTime: 'commit', production: undefined } as const
    return projectChanges.read(options, { store, profile: 'generic', settings })!(here.now())
  }

  function counter(): Counter<ChangeMeasure> {
    return createOnceCounter(countedChanges, store.on(storedChanges), countingOn({ now: () => here.now() }))
  }

  async function report(observed: readonly ObservedEvent[], pipelines: readonly Observation[] = []): Promise<void> {
    const changes = observed.flatMap(one => changeOf(one) ?? [])
    await store.runs.transact(mergeObservations(pipelines, 'webhook', rules), {
      reports: reportsBy(changeReporter, changes),
    })
  }

  async function totals(metric: string, project: { readonly id: number }) {
    const all = (await store.totals.read(10)).projects.filter(({ key }) => key.projectId === project.id)
    return all.flatMap(({ series }) => series.filter(one => one.metric === metric)).map(({ amount }) => amount)
  }

  it('counts half a year of changes exactly, even if reports are shuffled, duplicated or invalid and two counters run at the same time', async () => {
    const random = new Random(7)
    const count = isFull ? 2_000 : 40
    const all = Array.from({ length: count }, (_, n) =>
      simulatedChange(n + 1, t0 + Math.floor((n * 183 * day) / count / second) * second, random),
    )
    type News = { readonly observed: ObservedEvent } | { readonly pipeline: Observation }
    const news = all.flatMap(({ observed, pipelines }): News[] => [
      ...[...observed, ...observed.filter(() => random.chance(0.3))].map(one => ({ observed: one })),
      ...observed.filter(() => random.chance(0.1)).map(one => ({ observed: mutated(one, random) })),
      ...[...pipelines, ...pipelines.filter(() => random.chance(0.3))].map(one => ({ pipeline: one })),
    ])
    const shuffled = random.shuffle(news)
    for (let at = 0; at < shuffled.length; at += 200) {
      const some = shuffled.slice(at, at + 200)
      await report(
        some.flatMap(one => ('observed' in one ? one.observed : [])),
        some.flatMap(one => ('pipeline' in one ? one.pipeline : [])),
      )
    }
    here.move(countIn)
    const [one, other] = [counter(), counter()]
    await Promise.all([one.drain(), other.drain()])
    const measures = {
      ...{ merge: 'time_to_merge', approval: 'time_to_approval', pipeline: 'time_to_first_pipeline' },
      train: 'time_in_merge_train',
    }
    for (const [of, name] of Object.entries(measures) as [ChangeMeasure, string][]) {
      const isOf = ({ took }: SimulatedChange): boolean => took[of] !== undefined
      expect(one.counters[of] + other.counters[of]).toBe(all.filter(isOf).length)
      for (const project of places) {
        const own = all.filter(each => each.project === project).flatMap(({ took }) => took[of] ?? [])
        const [histogram, ...others] = await totals(`platform.vcs.change.${name}`, project)
        expect(others).toEqual([])
        if (histogram?.kind !== 'histogram') throw new Error('no histogram')
        expect(histogram.counts.reduce((a, b) => a + b, 0)).toBe(own.length)
        expect(histogram.sum).toBe(own.reduce((a, b) => a + b, 0))
        if (of === 'merge' || of === 'approval') expect(histogram.bounds).toEqual(longBounds)
      }
    }
    // The number of changes in each state, as the semantic conventions define it.
    for (const { key, metrics } of await known()) {
      const [states] = metrics
      const own = all.filter(({ project }) => project.id === key.projectId)
      const points = states?.points.map(({ attributes, value }) => [attributes['vcs.change.state'], value])
      const truth = (state: ChangeState): number => own.filter(each => each.state === state).length
      if (own.length > 0) expect(points).toEqual(changeStates.map(state => [state, truth(state)]))
    }
    // Each change is counted once: nothing more is due, whatever is reported again.
    const { items } = await store.outbox.lease(delta, 10_000, minute)
    const keys = items.map(chunkOf).flatMap(chunk => (isEvent(chunk) ? JSON.stringify(chunk.figures) : []))
    expect(keys).toHaveLength(all.reduce((sum, { took }) => sum + Object.keys(took).length, 0))
    await report(all.flatMap(({ observed }) => observed).slice(0, 200))
    here.move(day)
    const again = counter()
    await again.drain()
    expect(again.counters).toEqual({ pipeline: 0, approval: 0, merge: 0, train: 0 })
  })

  const shop = projects.storefront
  const observed = (iid: number, action: ChangeAction, at: number, more: Partial<SimChange> = {}): ObservedEvent => {
    const change = { id: 5_000 + iid, iid, project: shop, title: 'Brew', sourceBranch: 'kettle', targetBranch: 'main' }
    const payload = changePayload(
      { ...change, createdAt: t0, state: 'opened', ...more },
      { action, at, user: users[0] },
      instance,
    )
    return { body: payload as Record<string, unknown> }
  }
  const merged = { state: 'merged' } as const

  it('counts the earliest time of a change that is reported before the change is counted, and ignores an earlier time that is reported afterwards', async () => {
    await report([observed(1, 'open', t0), observed(1, 'approved', t0 + 2 * hour)])
    here.move(countIn - second)
    await counter().drain()
    expect(await totals('platform.vcs.change.time_to_approval', shop)).toEqual([])
    await report([observed(1, 'approval', t0 + hour)])
    here.move(countIn)
    await counter().drain()
    await report([observed(1, 'approval', t0 + minute)])
    here.move(countIn)
    await counter().drain()
    expect(await totals('platform.vcs.change.time_to_approval', shop)).toMatchObject([{ sum: 3_600 }])
    const [shown] = await store.on(storedChanges).list({ since: 0, until: here.now() + day, limit: 9 })
    expect(shown).toMatchObject({
      view: { approvedAt: t0 + minute },
      counted: { approval: { at: t0 + hour, took: hour } },
    })
  })

  it('counts a change once after the counting process crashes, even if the change was reported again meanwhile', async () => {
    await report([observed(1, 'merge', t0 + hour, merged)])
    here.move(countIn)
    const [due] = await store.on(storedChanges).due(9)
    const died = store.on(storedChanges).countDue(9, () => {
      throw new Error('it dies')
    })
    await expect(died).rejects.toThrow('it dies')
    await report([observed(1, 'update', t0 + hour, { ...merged, title: 'Brew twice' })])
    await store.close()
    store = await here.open()
    await counter().drain()
    expect(await totals('vcs.change.time_to_merge', shop)).toMatchObject([{ kind: 'last', value: 3_600 }])
    const again = await store.on(storedChanges).count(due!, () => ({ counted: {}, written: [], measures: [] }))
    expect(again).toBeUndefined()
  })

  it('lists changes from the start of an interval up to, but not including, its end', async () => {
    const kinds = ['open', 'approval', 'merge'] as const
    await report(kinds.map((kind, at) => observed(at + 1, kind, t0 + at * hour)))
    const listed = await store.on(storedChanges).list({ since: t0, until: t0 + 2 * hour, limit: 9 })
    expect(listed).toHaveLength(2)
    expect(await store.on(storedChanges).list({ since: t0, until: t0 + 2 * hour, limit: 1 })).toEqual([listed[0]])
    expect(listed.map(({ at }) => at)).toEqual([t0 + hour, t0])
  })

  it('skips a change whose row is damaged, and rebuilds it from later reports', async () => {
    await report([observed(1, 'merge', t0 + hour, merged), observed(2, 'merge', t0 + hour, merged)])
    here.move(countIn)
    await here.sql(`UPDATE changes SET content = '{"event":' WHERE iid = 1`)
    await counter().drain()
    expect(await totals('platform.vcs.change.time_to_merge', shop)).toMatchObject([{ sum: 3_600 }])
    expect(await store.on(storedChanges).list({ since: 0, until: here.now() + day, limit: 9 })).toHaveLength(1)
    expect(await store.on(storedChanges).states()).toMatchObject([
      { states: { merged: 2 }, project: { path: shop.path } },
    ])
    await report([observed(1, 'merge', t0 + 2 * hour, merged)])
    here.move(countIn)
    await counter().drain()
    expect(await totals('platform.vcs.change.time_to_merge', shop)).toMatchObject([{ sum: 3_600 + 7_200 }])
  })

  it('reports the age of the oldest open change of each series, and deletes old changes with their figures', async () => {
    await report([
      ...[observed(1, 'open', t0, { title: 'Draft: Brew' }), observed(2, 'open', t0), observed(3, 'open', t0 - hour)],
      observed(3, 'reopen', t0 + 30 * second),
    ])
    here.move(minute)
    const [, ages] = (await known())[0]!.metrics
    expect(ages?.points.map(({ attributes, value }) => [attributes['vcs.change.state'], value])).toEqual([
      ['wip', 60],
      ['open', 60],
    ])
    expect(ages?.points[0]?.attributes).toMatchObject({
      ...{ 'vcs.ref.head.name': 'refs/merge-requests/*', 'vcs.ref.base.name': 'main' },
      'vcs.repository.url.full': `${instance}/${shop.path}`,
    })
    expect(await store.on(storedChanges).prune(t0, 9)).toBe(0)
    here.move(day)
    expect(await store.on(storedChanges).prune(here.now(), 9)).toBe(3)
    expect(await store.on(storedChanges).states()).toEqual([])
  })
})
