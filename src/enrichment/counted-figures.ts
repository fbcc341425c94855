// What is written when something is counted: increments of the project's totals, and an event that is exported as metrics only.
import { eventVersion, type AnyChunk, type EventChunk } from '../model/event.ts'
import type { Counted } from '../store/ports/counted.ts'
import type { Millis } from '../model/instant.ts'
import type { ProjectFacts } from '../model/observation.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { ReceivedEvent } from '../store/ports/events.ts'

export interface FigureOutlets {
  /** What a chunk adds to totals; undefined: no metrics are kept. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
  /** Destinations that take the points of each by themselves. */
  readonly to: ReceivedEvent['to']
  readonly profile: string
}

/** `key`: names these figures, such as `merge of change 7`, by a number that SQLite may give again once its row is deleted. */
export function countedFigures(
  { instance, project }: { readonly instance: string; readonly project: ProjectFacts },
  event: Pick<EventChunk['event'], 'kind' | 'name'>,
  figures: Pick<EventChunk, 'deployment' | 'change' | 'incident'> & { readonly at: Millis; readonly key: string },
  { measure, to, profile }: FigureOutlets,
): Counted {
  const { key: name, ...rest } = figures
  const key = `${name} at ${rest.at}`
  const chunk: EventChunk = {
    ...{ version: eventVersion, kind: 'event', key: { instance }, project, trace: { profile } },
    event: { ...event, severity: 'info', body: '', attributes: {} },
    ...{ ...rest, observedAt: rest.at },
  }
  const totals = measure?.(chunk)
  const sent = { event: { object: key, key, content: '' }, chunk, arrival: 0, to }
  return { ...(totals && { totals }), ...(to.length > 0 && { sent }) }
}
