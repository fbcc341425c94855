// Collects a project's pipeline schedules: when each is due next, and how its last pipeline ended (the platform's API, "Pipeline schedules"). Also
// reports schedules that missed a run, and schedules whose owner is blocked.
//
// A schedule has missed a run if it was due, `grace` has passed, and it has not created a pipeline. To detect this, the collector stores two facts
// about each active schedule: when it is due, and its last pipeline.
//
// 1. Both are recorded in the first round in which the schedule is observed or its plan has changed.
// 2. If there is a newer pipeline, the run was not missed, and the next due time replaces the old one.
// 3. If a due time passes without a pipeline, this is reported once, and the next due time replaces the old one.
//
// A blocked owner is reported each time that the platform blocks the account, because schedules with a blocked owner create no pipelines.
import { z } from 'zod'
import { collector, hiddenKinds, minute, since, unless, until } from './collector.ts'
import { maybe, wireFlag, wireId, wireText, wireTime } from '../rest/wire-field.ts'
import type { CollectedEvent } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** How late a scheduled pipeline may be, ms. The platform checks for due schedules only every few minutes. */
export const grace = 15 * minute

const schedule = z.object({
  id: wireId,
  description: maybe(wireText),
  ref: maybe(wireText),
  cron: maybe(wireText),
  cron_timezone: maybe(wireText),
  next_run_at: maybe(wireTime),
  active: maybe(wireFlag),
  created_at: maybe(wireTime),
  owner: maybe(z.object({ username: maybe(wireText), state: maybe(wireText) })),
  last_pipeline: maybe(z.object({ id: wireId, status: maybe(wireText), created_at: maybe(wireTime) })),
})
type Schedule = z.infer<typeof schedule>

const known = z.object({
  /** The schedule's cron expression, time zone and ref. If any of them changes, the due time is computed again. */
  plan: z.string(),
  due: z.number().optional(),
  /** The due time for which a missed run was already reported. */
  missed: z.number().optional(),
  pipeline: z.number().optional(),
  isOwnerBlocked: z.boolean(),
  /** How many times the owner's account was observed to become blocked. The number is part of the event's key. */
  blocks: z.number(),
})
type Known = z.infer<typeof known>

/** The stored facts about schedules, by schedule ID. */
const knownSchedules = z.record(z.string(), known)

/**
 * Decides which events to report about a schedule, and which facts to store about it. `showsPipeline`: false if the token may not read the schedule's
 * last pipeline; in that case no missed run is reported. Pure.
 */
export function judge(
  found: Schedule,
  before: Known | undefined,
  now: Millis,
  showsPipeline: boolean,
): { readonly memory: Known; readonly events: readonly CollectedEvent[] } {
  const { next_run_at: next, last_pipeline: last } = found
  const plan = JSON.stringify([found.cron, found.cron_timezone, found.ref])
  const isOwnerBlocked = found.owner?.state !== undefined && found.owner.state !== 'active'
  const isNewlyBlocked = isOwnerBlocked && before?.isOwnerBlocked !== true
  const blocks = (before?.blocks ?? 0) + (isNewlyBlocked ? 1 : 0)
  const memory = { plan, isOwnerBlocked, blocks, pipeline: last?.id }
  const blocked = isNewlyBlocked ? [ownerBlocked(found, blocks)] : []
  const isComparable = before?.plan === plan && showsPipeline && before.due !== undefined
  if (!isComparable || before.pipeline !== last?.id) {
    // Without the schedule's last pipeline, which is not requested for inactive schedules, a missed run cannot be detected. If there is a new
    // pipeline, the run was not missed.
    return { memory: { ...memory, due: showsPipeline ? next : undefined }, events: blocked }
  }
  const { due = now, missed } = before
  if (now < due + grace) return { memory: { ...memory, due, missed }, events: blocked }
  const following = next === undefined || next < due ? due : next
  // The platform may still return the missed due time as the next one. In that case the missed run is not reported again.
  const events = missed === due ? blocked : [...blocked, missedRun(found, due)]
  return { memory: { ...memory, due: following, missed: due }, events }
}

function nameOf({ id, description = String(id) }: Pick<Schedule, 'id' | 'description'>): string {
  return description
}

function missedRun(found: Schedule, due: Millis): CollectedEvent {
  const key = `${found.id} missed ${due}`
  const body = `The schedule ${nameOf(found)} was due but created no pipeline`
  return eventOf(found, 'missed', key, body, { 'platform.schedule.due_at': new Date(due).toISOString() })
}

function ownerBlocked(found: Schedule, blocks: number): CollectedEvent {
  const { username = '', state = 'blocked' } = found.owner ?? {}
  const key = `${found.id} owner ${username} blocked ${blocks}`
  const body = `The owner of the schedule ${nameOf(found)} is ${state}, so the schedule creates no pipelines`
  return eventOf(found, 'owner_blocked', key, body, { 'platform.schedule.owner.state': state })
}

function eventOf(
  found: Schedule,
  what: string,
  key: string,
  body: string,
  more: Readonly<Record<string, string>>,
): CollectedEvent {
  const ref = found.ref === undefined ? {} : { 'vcs.ref.head.name': found.ref }
  const own = { 'platform.schedule.id': String(found.id), 'platform.schedule.name': nameOf(found) }
  return { key, body, name: `platform.schedule.${what}`, severity: 'warn', attributes: { ...own, ...ref, ...more } }
}

const own = ['platform.schedule.id', 'platform.schedule.name']

export const schedules = collector({
  kind: 'schedules',
  of: 'projects',
  description: 'Pipeline schedules: when each is due next, and how its last pipeline ended.',
  paths: ['/projects/:id/pipeline_schedules', '/projects/:id/pipeline_schedules/:schedule_id'],
  every: 10 * minute,
  requests: '1 per 100 schedules + active schedules',
  role: 'Developer; the last pipeline is shown to Maintainers and to the owner of the schedule',
  read: async ({ ask, path, now, memory }) => {
    const { items, left } = await ask.all(`${path}/pipeline_schedules`, schedule, {}, undefined, ['active'])
    const { data: before = {} } = knownSchedules.safeParse(memory)
    const judged = []
    for (const listed of items) {
      const one = `${path}/pipeline_schedules/${listed.id}`
      const detailed = listed.active === true ? await unless(hiddenKinds, ask.one(one, schedule)) : undefined
      const found = { ...listed, ...detailed }
      judged.push({ found, ...judge(found, before[found.id], now, detailed !== undefined) })
    }
    return {
      all: judged.map(({ found }) => ({ ...found, own: [String(found.id), nameOf(found)] as const })),
      active: items.filter(one => one.active === true).length,
      ...{ omitted: left, events: judged.flatMap(({ events }) => events) },
      memory: Object.fromEntries(judged.map(({ found, memory: known }) => [found.id, known])),
    }
  },
  metrics: [
    {
      ...{ name: 'platform.schedule.count', unit: '{schedule}', attributes: ['platform.schedule.active'] },
      description: 'Pipeline schedules of the project, active or not.',
      points: ({ all, active }) => [
        [active, true],
        [all.length - active, false],
      ],
    },
    {
      ...{ name: 'platform.schedule.next_run', unit: 's', attributes: own },
      description: 'Time until the active schedule is due; negative if it is overdue.',
      points: ({ all }) => all.map(one => [one.active === true ? until(one.next_run_at) : undefined, ...one.own]),
    },
    {
      ...{ name: 'platform.schedule.last_run', unit: 's', attributes: own },
      description: 'Time since the creation of the last pipeline of the schedule.',
      points: ({ all }) => all.map(one => [since(one.last_pipeline?.created_at), ...one.own]),
    },
    {
      ...{ name: 'platform.schedule.last_result', unit: '1', attributes: [...own, 'pipeline.status'] },
      description: '1 for the status of the last pipeline of the schedule.',
      points: ({ all }) =>
        all.map(({ own: ids, last_pipeline: { status } = {} }) => [status === undefined ? status : 1, ...ids, status]),
    },
    {
      ...{ name: 'platform.schedule.age', unit: 's', attributes: own },
      description: 'Age of the schedule: an old one may have been forgotten.',
      points: ({ all }) => all.map(one => [since(one.created_at), ...one.own]),
    },
  ],
})
