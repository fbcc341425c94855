// Tests which documents a scope shows, and which parts of them, on both databases.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bothDatabases, opened } from './benches.ts'
import { documentKind } from '../../../src/core/store/ports/repository.ts'
import { event, instance, rules } from '../../flow/world.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import type { Scope } from '../../../src/core/store/ports/scope.ts'

describe.each(bothDatabases())('a scope on %s', (_name, bench) => {
  it("shows the documents of the scope's projects and groups, and those without a project unless the scope is limited to some projects", async () => {
    const note = z.object({ instance: z.string(), path: z.string() })
    const ofFeature = documentKind('note', note, ['path'])
    const ofProject = documentKind('shown-note', note, ['path'], { about: one => ({ ...one, paths: [one.path] }) })
    const { store } = await opened(bench)
    const { repositories } = store
    for (const path of ['a/shop', 'b/app']) {
      const project = path === 'a/shop' ? 1 : 4
      const { group, ...at } = { instance, path, group: path.split('/')[0]! }
      await repositories.polledProjects.put({ ...at, project, seen: 1, childrenSeen: 1, ranAt: 1, active: [] })
      await repositories.sweeps.put({ instance, group, startedAt: 1, since: 1, count: 1, done: true })
      const hook = { instance, id: project, newest: 0, answers: {} }
      await repositories.hooks.put({ ...hook, kind: 'group', owner: group })
      await repositories.hooks.put({ ...hook, kind: 'project', owner: path })
      await repositories.refusedEndpoints.put({ ...at, what: 'jobs', project, message: 'no', times: 1 })
      const points = ['a/shop', 'b/app'].map(name => ({ metric: 'platform.x', attributes: { name }, value: 1 }))
      const reading = { instance, profile: 'generic', at: 1, goodFor: 1, points }
      await repositories.gaugeReadings.put({ ...reading, kind: 'x', of: path, project: { id: project, path } })
      await repositories.gaugeReadings.put({ ...reading, kind: 'x', of: group, group })
      const state = { instance, kind: 'x', nextAt: 1, failures: 1, refusal: { message: 'b/app', lasts: false } }
      await repositories.inventoryStates.put({ ...state, of: path, owner: { project: { id: project, path } } })
      await repositories.inventoryStates.put({ ...state, of: group, owner: { group: { path: group } } })
      await repositories.of(ofFeature).put(at)
      await repositories.of(ofProject).put(at)
    }
    // This group's ID may also be the ID of a project.
    await repositories.hooks.put({ instance, kind: 'group', id: 9, owner: '1', newest: 0, answers: {} })
    await repositories.refusedEndpoints.put({ instance, what: 'commits', project: 0, message: 'b/app', times: 1 })
    await repositories.ownPipelines.put({ instance, newest: 1 })
    await repositories.budgets.put({ account: 'a', tokens: 1, at: 1 })
    const observed = { ...event('running', {}, []), project: { id: 1, path: 'a/shop' } }
    await store.runs.transact(mergeObservations([observed], 'webhook', rules))

    const seenBy = async (bounds: Scope['bounds']): Promise<unknown> => {
      const { repositories: shown } = store.reads({ bounds, sees: ({ path }) => !path.startsWith('b') })
      return {
        polled: (await shown.polledProjects.all()).map(({ path }) => path),
        sweeps: (await shown.sweeps.all()).map(({ group }) => group),
        hooks: (await shown.hooks.all()).map(({ kind, owner }) => `${kind} ${owner}`),
        refused: (await shown.refusedEndpoints.all()).map(({ what, message }) => [what, message]),
        readings: (await shown.gaugeReadings.all()).map(({ of, points }) => `${of} ${points.length}`),
        states: (await shown.inventoryStates.all()).map(({ of, refusal }) => [of, refusal?.message]),
        ofFeature: (await shown.of(ofFeature).all()).map(({ path }) => path),
        ofProject: (await shown.of(ofProject).all()).map(({ path }) => path),
        ofNone: [(await shown.ownPipelines.all()).length, (await shown.budgets.all()).length],
      }
    }
    const notice = expect.stringContaining('Not shown') as string
    const ofA = {
      polled: ['a/shop'],
      sweeps: ['a'],
      hooks: ['group a', 'project a/shop'],
      ofProject: ['a/shop'],
    }
    expect(await seenBy('own')).toEqual({
      ...ofA,
      refused: [['jobs', 'no']],
      readings: ['a/shop 2'],
      states: [
        ['a', notice],
        ['a/shop', 'b/app'],
      ],
      ofFeature: [],
      ofNone: [0, 0],
    })
    expect(await seenBy('hidden')).toEqual({
      ...ofA,
      refused: [
        ['commits', notice],
        ['jobs', 'no'],
      ],
      readings: ['a 1', 'a/shop 1'],
      states: [
        ['a', notice],
        ['a/shop', 'b/app'],
      ],
      ofFeature: ['a/shop', 'b/app'],
      ofNone: [1, 1],
    })
  })
})
