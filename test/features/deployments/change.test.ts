// Tests how reports of a change are merged, in any order and with duplicates.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changeOfEvent, countedStep } from '../../../src/features/deployments/line-step.ts'
import {
  changeOfRun,
  mergeChange,
  observedChange,
  viewChange,
  uncounted,
  type Change,
} from '../../../src/features/deployments/model/change.ts'
import { mergeRun, observedRun } from '../../../src/model/run.ts'
import type { MergeRequest } from '../../../src/model/observation.ts'
import { runs } from '../../full.ts'
import { t0 } from '../../flow/world.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'

const base = { instance: 'https://git.example.com', project: { id: 3, path: 'acme/shop' }, iid: 12 }
const all = (...reports: readonly Change[]): Change => reports.reduce(mergeChange)

function event(
  action: string,
  at: number | undefined,
  state: string,
  more: Partial<PlatformEvent> = {},
): PlatformEvent {
  return {
    ...{ instance: base.instance, kind: 'change', name: 'platform.vcs.change', severity: 'info', body: '' },
    ...{ object: 'o', content: 'c', project: base.project, times: { createdAt: t0 } },
    ...(at !== undefined && { at }),
    attributes: { 'vcs.change.id': '12', 'vcs.change.state': state, 'platform.vcs.change.action': action },
    ...more,
  }
}

const observed = (action: string, at: number, state: string): Change => changeOfEvent(event(action, at, state), at)!
const pipeline = (id: number, createdAt: number): Change => ({ ...base, pipeline: { id, projectId: 3, createdAt } })

const report = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('open', 'update', 'approved', 'approval', 'unapproved', 'close', 'reopen', 'merge'),
      fc.integer({ min: t0, max: t0 + 9_000 }),
      fc.constantFrom('open', 'wip', 'closed', 'merged'),
    )
    .map(([action, at, state]) => observed(action, at, state)),
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: t0, max: t0 + 9 })).map(([id, at]) => pipeline(id, at)),
)

describe('merging reports of a change', () => {
  it('merges reports of a change to the same result in any order and with duplicates', () => {
    const same = fc.property(
      fc.array(report, { minLength: 1, maxLength: 6 }),
      fc.infiniteStream(fc.nat()),
      (reports, dice) => {
        const shuffled = [...reports, ...reports]
          .map(one => [dice.next().value!, one] as const)
          .sort(([a], [b]) => a - b)
        expect(all(...shuffled.map(([, one]) => one))).toEqual(all(...reports))
      },
    )
    fc.assert(same, runs(1_000))
  })

  it("keeps a change's first approval, first pipeline and merge, and its latest state", () => {
    const reports = [
      observed('open', t0, 'wip'),
      observed('approval', t0 + 3_000, 'open'),
      observed('unapproved', t0 + 4_000, 'open'),
      observed('approved', t0 + 5_000, 'open'),
      observed('close', t0 + 6_000, 'closed'),
      observed('reopen', t0 + 7_000, 'open'),
      pipeline(9, t0 + 2_000),
      pipeline(8, t0 + 2_000),
    ]
    expect(viewChange(all(...reports))).toMatchObject({
      ...{ state: 'open', createdAt: t0, approvedAt: t0 + 3_000, stateAt: t0 + 7_000, pipeline: { id: 8 } },
    })
    // A later update, such as a new label, does not change the merge time.
    const merged = all(observed('update', t0 + 99_000, 'merged'), ...reports, observed('merge', t0 + 8_000, 'merged'))
    expect(viewChange(merged)).toMatchObject({ state: 'merged', mergedAt: t0 + 8_000 })
    expect(viewChange(pipeline(1, t0))).toBeUndefined()
  })

  it('measures the times of a change from its creation, and the times to its first events only if its opening was reported', () => {
    const later = [
      observed('approved', t0 + 3_000, 'open'),
      pipeline(8, t0 + 2_000),
      observed('merge', t0 + 8_000, 'merged'),
    ]
    expect(uncounted(all(...later), {})).toEqual([{ measure: 'merge', at: t0 + 8_000, took: 8_000 }])
    const whole = all(observed('open', t0, 'open'), ...later)
    expect(uncounted(whole, {}).map(({ measure, took }) => [measure, took])).toEqual([
      ['pipeline', 2_000],
      ['approval', 3_000],
      ['merge', 8_000],
    ])
    expect(uncounted(whole, { merge: { at: 1, took: 1 }, pipeline: { at: 1, took: 1 } })).toHaveLength(1)
    expect(uncounted({ ...whole, createdAt: t0 + 5_000 }, {}).map(({ took }) => took)).toEqual([0, 0, 3_000])
    const trained = all(whole, { ...base, trainAt: t0 + 7_000 }, { ...base, trainAt: t0 + 6_500 })
    const merge = { at: 1, took: 1 }
    expect(uncounted(trained, { merge, pipeline: merge, approval: merge })).toEqual([
      { measure: 'train', at: t0 + 8_000, took: 1_500 },
    ])
    expect(uncounted({ ...trained, isWhole: undefined }, {}).map(({ measure }) => measure)).toEqual(['merge'])
    expect(uncounted({ ...trained, mergedAt: undefined }, {}).map(({ measure }) => measure)).not.toContain('train')
    const { createdAt: _, ...undated } = whole
    expect(uncounted(undated, {})).toEqual([])
  })

  it("reads a change from an event with the platform's times, but not from an event without an id", () => {
    const own = (of: PlatformEvent): Change | undefined => changeOfEvent(of, t0 + 500)
    expect(own(event('merge', undefined, 'merged'))).toMatchObject({ mergedAt: t0 + 500, stateAt: t0 + 500 })
    const dated = event('merge', t0 + 9_000, 'merged', { times: { createdAt: t0, endedAt: t0 + 8_765 } })
    expect(own(dated)).toMatchObject({ mergedAt: t0 + 8_765 })
    expect(own(event('open', t0 + 1_000, 'open', { times: undefined }))).toMatchObject({ stateAt: t0 + 1_000 })
    expect(own(event('update', t0, 'merged'))?.mergedAt).toBeUndefined()
    expect(own(event('open', t0, 'open', { kind: 'issue' }))).toBeUndefined()
    expect(own(event('open', t0, 'open', { project: undefined }))).toBeUndefined()
    expect(own(event('open', t0, 'odd'))).toBeUndefined()
    expect(own(event('open', t0, 'open', { attributes: { 'vcs.change.state': 'open' } }))).toBeUndefined()
  })

  it('reads a merge request pipeline as a change of the target project, even if it comes from a fork', () => {
    const run = (
      mergeRequest?: { iid: number; targetProjectId?: number },
      createdAt?: number,
      mergeRequestEvent?: string,
    ) =>
      observedRun({
        ...{
          key: { instance: base.instance, pipelineId: 7 },
          origin: 'webhook',
          project: { id: 3 },
          jobs: [],
          mergeRequestEvent,
        },
        pipeline: {
          facts: { status: 'running', ...(mergeRequest && { mergeRequest }) },
          times: { createdAt },
        },
      })
    expect(changeOfRun(run({ iid: 12 }, t0))).toMatchObject({
      ...{ project: { id: 3 }, iid: 12, pipeline: { id: 7, projectId: 3, createdAt: t0 } },
    })
    expect(changeOfRun(run({ iid: 12, targetProjectId: 1 }, t0))).toMatchObject({
      ...{ project: { id: 1 }, pipeline: { projectId: 3 } },
    })
    expect(changeOfRun(run({ iid: 12 }))).toBeUndefined()
    expect(changeOfRun(run({ iid: 12 }, t0))).not.toHaveProperty('trainAt')
    expect(changeOfRun(run({ iid: 12 }, t0, 'merged_result'))).not.toHaveProperty('trainAt')
    expect(changeOfRun(run({ iid: 12 }, t0, 'merge_train'))).toMatchObject({ trainAt: t0 })
    expect(changeOfRun(run(undefined, t0))).toBeUndefined()
  })

  it('attributes a change to its target project as soon as a source names it, and never to the fork again', () => {
    const { onObserved } = countedStep({ afterEvent: 0, afterSnapshot: 0, change: 0 })
    const run = (origin: 'rest' | 'webhook', mergeRequest: MergeRequest) =>
      observedRun({
        ...{ key: { instance: base.instance, pipelineId: 7 }, origin, project: { id: 3 }, jobs: [] },
        pipeline: { facts: { status: 'running', mergeRequest }, times: { createdAt: t0 } },
      })
    const targets = (...args: Parameters<NonNullable<typeof onObserved>>): unknown[] =>
      (onObserved?.(...args) ?? []).flatMap(({ reports }) =>
        (reports as { report: Change }[]).map(({ report }) => report.project.id),
      )
    const byRest = run('rest', { iid: 12 })
    expect(targets(byRest, undefined)).toEqual([3])
    const both = mergeRun(byRest, run('webhook', { id: 90, iid: 12, targetProjectId: 1 }))
    expect(targets(both, byRest)).toEqual([1])
    expect(targets(mergeRun(both, byRest), both)).toEqual([])
    expect(targets(byRest, both)).toEqual([])
  })

  it('prefers the later stage if two reports of a change have the same second', () => {
    const of = (state: 'open' | 'closed', at: number): Change => ({ ...base, event: observedChange({ state }, at) })
    expect(viewChange(all(of('closed', t0 + 100), of('open', t0 + 900)))?.state).toBe('closed')
    expect(viewChange(all(of('closed', t0), of('open', t0 + 1_000)))?.state).toBe('open')
  })
})
