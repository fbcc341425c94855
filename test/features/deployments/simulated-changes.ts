// Simulates the history of changes (merge requests): their webhooks, their pipelines, and the figures that must be counted for them.
import { changeOfEvent } from '../../../src/features/deployments/line-step.ts'
import { changePayload, type ChangeAction, type SimChange } from '../../../src/simulator/platform/events.ts'
import { countIn } from './reported.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import { instance, second, t0 } from '../../flow/world.ts'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { projects, users } from '../../../src/simulator/platform/world.ts'
import type { Change, ChangeMeasure, ChangeState } from '../../../src/features/deployments/model/change.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { Random } from '../../../src/simulator/platform/random.ts'
import type { Reported } from '../../../src/features/deployments/sql/counted.ts'

/** The projects of the simulated changes. */
export const places = [projects.storefront, projects.infra] as const

export interface ObservedEvent {
  readonly body: Record<string, unknown>
}

/** One simulated change: its complete history, and the expected figures. */
export interface SimulatedChange {
  readonly project: (typeof places)[number]
  readonly observed: readonly ObservedEvent[]
  readonly pipelines: readonly Observation[]
  readonly state: ChangeState
  /** The expected durations, in seconds. */
  readonly took: Readonly<Partial<Record<ChangeMeasure, number>>>
}

/** Simulates a change that is created at this time, and everything that is reported about it. */
export function simulatedChange(id: number, createdAt: number, random: Random): SimulatedChange {
  const project = random.pick(places)
  const change: SimChange = {
    ...{ id: 5_000 + id, iid: id, project, title: 'Brew faster', sourceBranch: `kettle-${id}`, targetBranch: 'main' },
    ...{ createdAt, state: 'opened' },
  }
  const observed: ObservedEvent[] = []
  const emit = (action: ChangeAction, at: number, state: SimChange['state'] = 'opened'): void => {
    const payload = changePayload({ ...change, state }, { action, at, user: random.pick(users) }, instance)
    observed.push({ body: payload as Record<string, unknown> })
  }
  const isOld = random.chance(0.1)
  if (!isOld) emit('open', createdAt)
  let at = createdAt
  const next = (): number => (at += random.whole(1, 40 * 3_600) * second)
  const took: Partial<Record<ChangeMeasure, number>> = {}
  const trains: Observation[] = []
  const since = (): number => (at - createdAt) / second
  emit('update', next())
  if (random.chance(0.7)) {
    emit(random.chance(0.5) ? 'approval' : 'approved', next())
    if (!isOld) took.approval = since()
    if (random.chance(0.2)) emit('unapproved', next())
    if (random.chance(0.4)) emit('approved', next())
  }
  if (random.chance(0.2)) {
    emit('close', next(), 'closed')
    emit('reopen', next())
  }
  const end = random.next()
  if (end < 0.7) {
    emit('merge', next(), 'merged')
    took.merge = since()
    const mergedAt = at
    // The change entered a merge train shortly before the merge, and perhaps also once earlier.
    const inTrain = Array.from({ length: random.whole(0, 2) }, () => random.whole(60, 9_000))
    inTrain.forEach((before, n) => {
      const one = pipeline(id * 10 + 5 + n, id, project, mergedAt - before * second)
      // Only the API reports that a pipeline belongs to a merge train, mostly after a webhook has reported the pipeline.
      trains.push(one, inTrainOf(one))
    })
    if (inTrain.length > 0 && !isOld) took.train = Math.max(...inTrain)
    // Some changes are labelled after the merge.
    if (random.chance(0.3)) emit('update', next(), 'merged')
  } else if (end < 0.8) emit('close', next(), 'closed')
  const firstAfter = random.whole(0, 900)
  const pipelines = Array.from({ length: random.whole(0, 3) }, (_, n) =>
    pipeline(id * 10 + n, id, project, createdAt + (firstAfter + n * 3_600) * second),
  )
  const began = [...pipelines, ...trains].flatMap(one => one.pipeline?.times.createdAt ?? [])
  if (began.length > 0 && !isOld) took.pipeline = Math.max(0, Math.min(...began) - createdAt) / second
  return {
    project,
    observed,
    pipelines: [...pipelines, ...trains],
    took,
    state: end < 0.7 ? 'merged' : end < 0.8 ? 'closed' : 'open',
  }
}

function pipeline(id: number, iid: number, project: (typeof places)[number], createdAt: number): Observation {
  return {
    ...{ key: { instance, pipelineId: id }, origin: 'webhook', jobs: [] },
    project: { id: project.id, path: project.path },
    pipeline: {
      facts: { status: 'running', source: 'merge_request_event', ref: `kettle-${iid}`, mergeRequest: { iid } },
      times: { createdAt },
    },
  }
}

/** Returns what the API's job list adds to a pipeline: that it belongs to a merge train. */
function inTrainOf({ key, project }: Observation): Observation {
  return { key, project, origin: 'rest', jobs: [], mergeRequestEvent: 'merge_train' }
}

/** Returns the report of the change that a webhook's body contains. */
export function changeOf({ body }: ObservedEvent): Reported<Change> | undefined {
  const parsed = parseDelivery(
    { event: 'Merge Request Hook', instance, body: Buffer.from(JSON.stringify(body)) },
    { profile: profiles.generic, traceparent: false, events: everyEvent },
  )
  const change = parsed.outcome === 'event' ? changeOfEvent(parsed.event, t0) : undefined
  return change && { report: change, countIn }
}

/** Returns a report with an invalid value. It belongs to a separate project in which nothing is counted, so the other figures stay exact. */
export function mutated({ body }: ObservedEvent, random: Random): ObservedEvent {
  const field = random.pick(['iid', 'state', 'action', 'created_at', 'updated_at', 'id', 'merged_at'])
  const odd = random.pick<unknown>([null, '', 'soon', -1, 1e99, {}, [], '0000-00-00', true])
  const own = { ...(body.object_attributes as object), created_at: null, [field]: odd }
  return { body: { ...body, project: { ...(body.project as object), id: 777 }, object_attributes: own } }
}
