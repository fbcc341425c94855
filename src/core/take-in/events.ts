// Takes in events that belong to no run, with the reports that features derive from them: events from webhooks, and events that no delivery reported,
// such as those from the platform's API.
import { eventChunk, type PlatformEvent } from '../../model/event.ts'
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { routed, subjectOf, type Route } from '../../model/route.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent, Reports, Runs } from '../store/ports/runs.ts'
import type { LineStep } from '../store/ports/reporter.ts'
import type { Selection } from './selection.ts'

export interface EventRules {
  readonly to: readonly Route<'logs'>[]
  readonly profile: ByInstance<string>
  /** How long an event waits for the span of its job, in ms. */
  readonly wait: number
  /** Called after events were stored, so that the exporter sends them. */
  readonly onTaken: () => void
}

/** The maximum time in ms that an event waits for the span of its job. */
const maxWait = 600_000

/** Returns how long events wait for the span of their job, in ms. Within that time, late reports about the job arrive. */
export function eventWait({ enrichDeadline }: { readonly enrichDeadline: number }): number {
  return Math.min(maxWait, enrichDeadline)
}

export interface EventReporting {
  /** The rules for storing events. If undefined, no events are stored. */
  readonly events?: EventRules | undefined
  readonly steps?: readonly LineStep[] | undefined
}

interface Observed {
  readonly event: PlatformEvent
  readonly receivedAt: Millis
}

/** Returns the reports about events, in the order in which the events arrived. Pure. */
export function reportsOf(
  received: readonly Observed[],
  { events, steps = [] }: EventReporting,
): { readonly events: readonly ReceivedEvent[]; readonly reports: readonly Reports[] } {
  return {
    events: received.flatMap(one => receivedEvent(one, events, steps) ?? []),
    reports: received.flatMap(({ event, receivedAt }) =>
      steps.flatMap(({ onEvent }) => onEvent?.(event, receivedAt) ?? []),
    ),
  }
}

/** Returns the event to store. Undefined if no destination exports it, so that it need not be stored. */
function receivedEvent(
  { event, receivedAt }: Observed,
  rules: EventRules | undefined,
  steps: readonly LineStep[],
): ReceivedEvent | undefined {
  const to = queuesOf(event, rules)
  if (rules === undefined || to.length === 0) return undefined
  const [wait] = steps.flatMap(({ jobOf }) => jobOf?.(event) ?? [])
  let { attributes } = event
  for (const { attributesOf } of steps) attributes = { ...attributes, ...attributesOf?.(event) }
  const chunk = eventChunk({ ...event, attributes }, receivedAt, ofInstance(rules.profile, event.instance))
  return { event, chunk, to, ...(wait !== undefined && { waits: { ...wait, ms: rules.wait } }) }
}

export function queuesOf(event: PlatformEvent, rules: EventRules | undefined): readonly Route<'logs'>[] {
  return rules === undefined || rules.to.length === 0 ? [] : routed(rules.to, subjectOf(event))
}

export interface EventTaking {
  readonly runs: Pick<Runs, 'transact'>
  readonly selection: Pick<Selection, 'project'>
  readonly rules: EventRules
  readonly now: () => Millis
}

/**
 * Stores events that no delivery reported, in one transaction. Each event needs a `key`, by which it is deduplicated. `reports`: the features'
 * reports about these events. If no destination exports events, nothing is stored.
 */
export async function takeEvents(
  events: readonly PlatformEvent[],
  { runs, selection, rules, now }: EventTaking,
  reports: readonly Reports[] = [],
): Promise<void> {
  const receivedAt = now()
  const received = events
    .filter(({ project, instance }) => selection.project(project?.path, instance))
    .flatMap(event => receivedEvent({ event, receivedAt }, rules, []) ?? [])
  if (received.length + reports.length === 0) return
  await runs.transact([], { events: received, reports })
  rules.onTaken()
}
