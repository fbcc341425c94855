// Reads one source's audit events in a time window, page by page, for the poller and for the backfill. Progress is saved after each page, once its
// events are in the store, so that a reader that was killed resumes there and misses nothing. Pages may overlap: events with known ids are skipped.
import { maxPages } from '../../core/find/limits.ts'
import {
  PlatformError,
  type AuditEvent,
  type AuditSource,
  type CallOptions,
  type PlatformClient,
  type ResourceId,
} from '../../platform/port.ts'
import { takeEvents, type EventTaking } from '../../core/take-in/events.ts'
import type { AuditMark, AuditWindow } from './documents.ts'
import type { AuditOptions } from './options.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'
import type { Millis } from '../../model/instant.ts'

export interface AuditReading {
  readonly client: Pick<PlatformClient, 'instance' | 'auditEvents'>
  /** The source of audit events as the operator configured it. */
  readonly source: string
  readonly call: CallOptions
  /** Stores the events that are not in the store yet; resolves once they are stored. */
  readonly take: (items: readonly AuditEvent[]) => Promise<void>
}

/** Parses a configured source: `instance`, a group by its number or path, or a project after `project:`. */
export function sourceOf(configured: string): AuditSource {
  if (configured === 'instance') return 'instance'
  const [, project] = /^project:(.*)$/.exec(configured) ?? []
  return project === undefined ? { group: idOrPath(configured) } : { project: idOrPath(project) }
}

function idOrPath(text: string): ResourceId {
  return /^\d+$/.test(text) ? Number(text) : text
}

/** Returns the human-readable name of a source. */
export function nameOfSource(configured: string): string {
  if (configured === 'instance') return 'the instance'
  return configured.startsWith('project:') ? configured.replace(':', ' ') : `group ${configured}`
}

export function auditTaking(taking: EventTaking): AuditReading['take'] {
  return async items =>
    takeEvents(
      items.map(({ event }) => event),
      taking,
    )
}

/** Returns the platform client for audit events. It reads users' addresses only if they are exported. */
export function auditClient(client: PlatformClient, { auditAddress }: AuditOptions): AuditReading['client'] {
  return {
    instance: client.instance,
    auditEvents: (source, query, call) => client.auditEvents(source, { ...query, withAddress: auditAddress }, call),
  }
}

/** Returns a function that reports whether the store has reached its limit. */
export function fullnessOf({ pruning }: Pick<SharedStore, 'pruning'>): () => Promise<boolean> {
  return async () => (await pruning.fullness()) >= 1
}

/** Maximum time window of one request, ms. It is the platform's limit of 30 days minus a margin for rounding to whole seconds. */
export const maxWindow = 30 * 24 * 3_600_000 - 2_000
/** Maximum delay before a new event appears in the platform's list, ms. */
export const overlap = 300_000
/** Maximum number of recent events whose ids are remembered for deduplication. The store deduplicates other events by their keys, for a week. */
const maxRecent = 5_000

export interface WindowProgress {
  /** Whether the event with this id has already been read. */
  readonly isKnown: (id: number) => boolean
  /** Saves the progress. Rejects, or returns false, if reading must stop. */
  readonly save: (window: AuditWindow) => Promise<boolean>
}

/**
 * Reads the events in a time window, at most 500 pages. Returns the window with its progress; if it has more pages, `next` is set. Returns undefined
 * if `save` stopped the reading. Rejects with a PlatformError, or with the reason of an aborted signal. Pages that were read before the error are
 * already saved.
 */
export async function readWindow(
  begun: AuditWindow,
  reading: AuditReading,
  { isKnown, save }: WindowProgress,
): Promise<AuditWindow | undefined> {
  let window = begun
  let pages = 0
  try {
    for await (const page of pagesOf(window, reading)) {
      await reading.take(page.items.filter(({ id }) => !isKnown(id)))
      window = withPage(window, page.items, page.servedAt)
      if (page.left !== undefined) {
        // The next attempt begins at the first page, because the error may be limited to this traversal of the list.
        await save({ ...window, next: undefined })
        throw repeatedListError()
      }
      window = { ...window, next: page.next }
      if (page.next === undefined) return window
      if (!(await save(window))) return undefined
      if (++pages === maxPages) return window
    }
  } catch (error) {
    // The platform may no longer recognise the saved page token. The list is then read from its beginning.
    const isForgotten = error instanceof PlatformError && (error.status === 400 || error.kind === 'not-found')
    if (!isForgotten || begun.next === undefined || window !== begun) throw error
    const { next: _, ...anew } = begun
    return readWindow(anew, reading, { isKnown, save })
  }
  return window
}

function pagesOf({ since, until, next }: AuditWindow, { client, source, call }: AuditReading) {
  const query = { createdAfter: since, createdBefore: until }
  return client.auditEvents(sourceOf(source), query, { ...call, from: next, max: Infinity })
}

function withPage(window: AuditWindow, items: readonly AuditEvent[], servedAt: Millis | undefined): AuditWindow {
  const marks = items.map(({ id, event }): AuditMark => [id, event.at])
  const recent = lastMinutes([...window.recent, ...marks], window.until)
  const begunAt = window.servedAt ?? servedAt
  return {
    ...window,
    recent,
    newest: newestOf([...(window.newest ? [window.newest] : []), ...marks]),
    servedAt: begunAt,
  }
}

export function newestOf(marks: readonly AuditMark[]): AuditMark | undefined {
  return marks.toSorted(([id, at], [otherId, otherAt]) => at - otherAt || id - otherId).at(-1)
}

/**
 * Returns the events of the last few minutes before `until` or, if it is undefined, before the newest event, without duplicates. The next window
 * rereads these events.
 */
export function lastMinutes(marks: readonly AuditMark[], until: Millis | undefined): AuditMark[] {
  const from = (until ?? newestOf(marks)?.[1] ?? 0) - overlap
  const byId = new Map(marks.filter(([, at]) => at >= from).map(mark => [mark[0], mark]))
  return [...byId.values()].sort((a, b) => b[1] - a[1]).slice(0, maxRecent)
}

function repeatedListError(): PlatformError {
  return new PlatformError({
    kind: 'unexpected-answer',
    what: 'The list of audit events repeats itself, or the platform refuses its further pages.',
    remedy: "The daemon will retry. The log names the page; proxies must pass the platform's `Link` headers unchanged.",
  })
}
