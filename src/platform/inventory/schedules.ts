// Collects a project's pipeline schedules: when each is due next, and how its last pipeline ended (the platform's API, "Pipeline schedules").
//
// A schedule is missed if it was due, `grace` has passed, and it has made no pipeline. For that the memory has for each active schedule:
//
// 1. when it is due, and its last pipeline, as of the first round in which it was seen or its plan changed;
// 2. a newer pipeline fulfils the due time: the next one takes its place;
// 3. a due time that passed without one is reported once, and the next one takes its place.
//
// The owner of a schedule is reported once for each time that the platform blocks the account: a blocked owner's schedules make no pipelines.
import { z } from 'zod'
import { maybe, wireFlag, wireId, wireText, wireTime } from '../rest/wire-field.ts'
import { maxListed } from '../rest/api.ts'
import { hidden, minute, pathOf, point, unless, type Collector } from './collector.ts'
import type { CollectedEvent, CollectedPoint } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** How late a scheduled pipeline may be, ms. The platform looks for due schedules every few minutes. */
export const grace = 15 * minute

const owner = z.object({ username: maybe(wireText), state: maybe(wireText) })
const pipeline = z.object({ id: wireId, status: maybe(wireText), created_at: maybe(wireTime) })
const schedule = z.object({
  id: wireId,
  description: maybe(wireText),
  ref: maybe(wireText),
  cron: maybe(wireText),
  cron_timezone: maybe(wireText),
  next_run_at: maybe(wireTime),
  active: maybe(wireFlag),
  created_at: maybe(wireTime),
  owner: maybe(owner),
  last_pipeline: maybe(pipeline),
})
type Schedule = z.infer<typeof schedule>

const remembered = z.object({
  /** Cron line, time zone and ref: a changed plan has another due time. */
  plan: z.string(),
  due: z.number().optional(),
  /** The due time that was reported as missed. */
  missed: z.number().optional(),
  pipeline: z.number().optional(),
  isOwnerBlocked: z.boolean(),
  /** How often the owner was found blocked, for the key of the event. */
  blocks: z.number(),
})
type Remembered = z.infer<typeof remembered>
const memoryShape = z.record(z.string(), remembered)

const id = 'platform.schedule.id'
const name = 'platform.schedule.name'
const status = 'pipeline.status'

export const schedules: Collector = {
  kind: 'schedules',
  of: 'projects',
  description: 'Pipeline schedules: when each is due next, and how its last pipeline ended.',
  paths: ['/projects/:id/pipeline_schedules', '/projects/:id/pipeline_schedules/:schedule_id'],
  every: 10 * minute,
  requests: '1 per 100 schedules + active schedules',
  atLeast: 1,
  role: 'Developer; the last pipeline is shown to Maintainers and to the owner of the schedule',
  metrics: [
    {
      name: 'platform.schedule.count',
      ...{ unit: '{schedule}', number: 'int', attributes: ['platform.schedule.active'] },
      description: 'Pipeline schedules of the project, active or not.',
    },
    {
      name: 'platform.schedule.next_run',
      ...{ unit: 's', number: 'double', attributes: [id, name] },
      description: 'Time until the active schedule is due; negative if it is overdue.',
    },
    {
      name: 'platform.schedule.last_run',
      ...{ unit: 's', number: 'double', attributes: [id, name] },
      description: 'Time since the creation of the last pipeline of the schedule.',
    },
    {
      name: 'platform.schedule.last_result',
      ...{ unit: '1', number: 'int', attributes: [id, name, status] },
      description: '1 for the status of the last pipeline of the schedule.',
    },
    {
      name: 'platform.schedule.age',
      ...{ unit: 's', number: 'double', attributes: [id, name] },
      description: 'Age of the schedule: an old one may have been forgotten.',
    },
  ],
  collect: async ({ ask, owner: of, now, memory }) => {
    const path = `${pathOf(of)}/pipeline_schedules`
    const { items, left } = await ask.all(path, schedule, {}, maxListed, ['active'])
    const parsed = memoryShape.safeParse(memory)
    const before = parsed.success ? parsed.data : {}
    const known: Record<string, Remembered> = {}
    const events: CollectedEvent[] = []
    const points: CollectedPoint[] = []
    for (const listed of items) {
      const detailed =
        listed.active === true ? await unless(hidden, ask.one(`${path}/${listed.id}`, schedule)) : undefined
      const found = { ...listed, ...detailed }
      points.push(...pointsOf(found))
      const judged = judge(found, before[found.id], now, detailed !== undefined)
      known[found.id] = judged.memory
      events.push(...judged.events)
    }
    const active = items.filter(one => one.active === true).length
    const count = (value: number, isActive: boolean): CollectedPoint =>
      point('platform.schedule.count', value, { 'platform.schedule.active': isActive })
    return {
      points: [count(active, true), count(items.length - active, false), ...points],
      ...{ events, memory: known, omitted: left },
    }
  },
}

function pointsOf(found: Schedule): CollectedPoint[] {
  const own = { [id]: String(found.id), [name]: nameOf(found) }
  const { active, next_run_at: next, created_at: created, last_pipeline: last } = found
  const all: (CollectedPoint | false)[] = [
    active === true && next !== undefined && point('platform.schedule.next_run', { until: next }, own),
    last?.created_at !== undefined && point('platform.schedule.last_run', { since: last.created_at }, own),
    last?.status !== undefined && point('platform.schedule.last_result', 1, { ...own, [status]: last.status }),
    created !== undefined && point('platform.schedule.age', { since: created }, own),
  ]
  return all.filter(one => one !== false)
}

/**
 * Decides what to report about a schedule, and what to remember of it. `showsPipeline`: false if the token may not see the last pipeline, so that
 * nothing can be missed. Pure.
 */
export function judge(
  found: Schedule,
  before: Remembered | undefined,
  now: Millis,
  showsPipeline: boolean,
): { readonly memory: Remembered; readonly events: readonly CollectedEvent[] } {
  const { next_run_at: next, last_pipeline: last } = found
  const plan = JSON.stringify([found.cron, found.cron_timezone, found.ref])
  const isOwnerBlocked = found.owner?.state !== undefined && found.owner.state !== 'active'
  const isNewlyBlocked = isOwnerBlocked && before?.isOwnerBlocked !== true
  const blocks = (before?.blocks ?? 0) + (isNewlyBlocked ? 1 : 0)
  const memory = { plan, isOwnerBlocked, blocks, pipeline: last?.id }
  const blocked = isNewlyBlocked ? [ownerBlocked(found, blocks)] : []
  const isComparable = before?.plan === plan && showsPipeline && before.due !== undefined
  if (!isComparable || before.pipeline !== last?.id) {
    // Without its last pipeline, a schedule cannot be judged; inactive ones are not asked for it. A new pipeline has fulfilled the due time.
    return { memory: { ...memory, due: showsPipeline ? next : undefined }, events: blocked }
  }
  const { due = now, missed } = before
  if (now < due + grace) return { memory: { ...memory, due, missed }, events: blocked }
  // While the platform itself still shows the missed due time as the next one, it is not reported again.
  const isNew = missed !== due
  const following = { ...memory, due: next === undefined || next < due ? due : next, missed: due }
  return { memory: following, events: isNew ? [...blocked, missedRun(found, due)] : blocked }
}

function missedRun(found: Schedule, due: Millis): CollectedEvent {
  return {
    key: `${found.id} missed ${due}`,
    name: 'platform.schedule.missed',
    severity: 'warn',
    body: `The schedule ${nameOf(found)} was due and made no pipeline`,
    attributes: { ...attributesOf(found), 'platform.schedule.due_at': new Date(due).toISOString() },
  }
}

function ownerBlocked(found: Schedule, blocks: number): CollectedEvent {
  return {
    key: `${found.id} owner ${found.owner?.username ?? ''} blocked ${blocks}`,
    name: 'platform.schedule.owner_blocked',
    severity: 'warn',
    body: `The owner of the schedule ${nameOf(found)} is ${found.owner?.state ?? 'blocked'}: it makes no pipelines`,
    attributes: {
      ...attributesOf(found),
      ...(found.owner?.state !== undefined && { 'platform.schedule.owner.state': found.owner.state }),
    },
  }
}

function attributesOf(found: Schedule): Record<string, string> {
  return {
    [id]: String(found.id),
    [name]: nameOf(found),
    ...(found.ref !== undefined && { 'vcs.ref.head.name': found.ref }),
  }
}

function nameOf(found: Schedule): string {
  return found.description ?? String(found.id)
}
