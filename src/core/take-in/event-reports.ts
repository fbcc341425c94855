// What webhook events report that are about no run: the events themselves, and deployments, changes, incidents and conditions. Pure.
import { changeOfEvent, incidentOfEvent, deploymentOfEvent } from '../../model/event-reports.ts'
import { eventChunk, type PlatformEvent } from '../../model/event.ts'
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { routed, subjectOf, type Route } from '../../model/route.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent } from '../store/ports/events.ts'
import type { Reported } from '../store/ports/counted.ts'
import type { Reports } from '../store/ports/runs.ts'
import type { RoutedCondition } from '../../model/condition.ts'

export interface EventRules {
  readonly to: readonly Route<'logs'>[]
  readonly profile: ByInstance<string>
  /** How long an event waits for its job's span, and how long after its report a deployment, change or incident is counted, ms. */
  readonly wait: number
  /** Called after events were stored: the exporter has something to send. */
  readonly onTaken: () => void
  /** Called after a push was taken in that may have changed the CI configuration; undefined: nobody wants to know. */
  readonly onCiPush?: ((event: PlatformEvent) => void) | undefined
}

export interface EventReporting {
  /** How events are stored; undefined: not at all. */
  readonly events?: EventRules | undefined
  /** What people may be notified about, by an event; undefined: nothing. */
  readonly conditions?: ((event: PlatformEvent, receivedAt: Millis) => readonly RoutedCondition[]) | undefined
}

interface Observed {
  readonly event: PlatformEvent
  readonly receivedAt: Millis
}

/** In the order in which they were received. */
export function reportsOf(
  received: readonly Observed[],
  { events, conditions }: EventReporting,
): { readonly [Key in keyof Reports]-?: NonNullable<Reports[Key]> } {
  const reportedBy = <Of>(read: (event: PlatformEvent, receivedAt: Millis) => Of | undefined): Reported<Of>[] =>
    received.flatMap(({ event, receivedAt }) => {
      const report = read(event, receivedAt)
      return report === undefined ? [] : [{ report, countIn: events?.wait ?? 0 }]
    })
  return {
    events: received.flatMap(one => receivedEvent(one, events) ?? []),
    deployments: reportedBy(deploymentOfEvent),
    changes: reportedBy(changeOfEvent),
    incidents: reportedBy(incidentOfEvent),
    conditions: received.flatMap(({ event, receivedAt }) => conditions?.(event, receivedAt) ?? []),
  }
}

/** Undefined if no destination takes it: then it is not stored. */
function receivedEvent({ event, receivedAt }: Observed, rules: EventRules | undefined): ReceivedEvent | undefined {
  const to = queuesOf(event, rules)
  if (rules === undefined || to.length === 0) return undefined
  const jobId = deploymentOfEvent(event, receivedAt)?.jobId
  const chunk = eventChunk(event, receivedAt, ofInstance(rules.profile, event.instance))
  return { event, chunk, to, ...(jobId !== undefined && { waits: { jobId, ms: rules.wait } }) }
}

/** Where an event goes. */
export function queuesOf(event: PlatformEvent, rules: EventRules | undefined): readonly Route<'logs'>[] {
  return rules === undefined || rules.to.length === 0 ? [] : routed(rules.to, subjectOf(event))
}
