// Reads the audit events of a stretch of time, page by page, and misses none of it: how far it has come is written down after each page, when
// its events are in the store, so that whoever comes after a kill goes on from there. Pages may repeat and overlap: what was read is known.
import { PlatformError } from '../platform/rest/platform-error.ts'
import { sourceOf, type AuditReading } from './audit-reading.ts'
import type { AuditMark, AuditWindow } from '../store/ports/audit-documents.ts'
import type { Millis } from '../model/instant.ts'
import type { RestAuditEvent } from '../platform/rest/audit-event.ts'

/** The longest stretch that the platform is asked about at once, ms: 30 days, with room for its bounds, which are whole seconds. */
export const longestWindow = 30 * 24 * 3_600_000 - 2_000
/** How much later than others of its time an event may show in the list, ms. */
export const overlap = 300_000
/** Events of the last minutes that are remembered by their numbers; more of them are known by their keys in the store, for a week. */
const mostRecent = 5_000
/** Pages in a row without a number that was not between those before: then the list leads nowhere. */
const mostStalled = 50

export interface WindowProgress {
  /** Numbers of events that are known. */
  readonly isKnown: (id: number) => boolean
  /** Writes down how far it has come. Rejects, or answers false, when it must not go on. */
  readonly save: (window: AuditWindow) => Promise<boolean>
}

/**
 * What was read of it by the end; undefined where `save` ended it before. Rejects with a PlatformError, or with the reason of an aborted
 * signal: the pages before were saved.
 */
export async function readWindow(
  begun: AuditWindow,
  reading: AuditReading,
  { isKnown, save }: WindowProgress,
): Promise<AuditWindow | undefined> {
  let window = begun
  const advances = createAdvance()
  try {
    for await (const page of pagesOf(window, reading)) {
      await reading.take(page.items.filter(({ id }) => !isKnown(id)))
      window = withPage(window, page.items, page.servedAt)
      if (page.next === undefined) return { ...window, next: undefined }
      if (!advances(page.items)) {
        // It may lead somewhere else when it is begun anew.
        await save({ ...window, next: undefined })
        throw leadsNowhere()
      }
      window = { ...window, next: page.next }
      if (!(await save(window))) return undefined
    }
  } catch (error) {
    // Where a list was to be continued may be forgotten there: then it is begun anew.
    const isForgotten = error instanceof PlatformError && (error.status === 400 || error.kind === 'not-found')
    if (!isForgotten || begun.next === undefined || window !== begun) throw error
    const { next: _, ...anew } = begun
    return readWindow(anew, reading, { isKnown, save })
  }
  return window
}

function pagesOf({ since, until, next }: AuditWindow, { client, source, call }: AuditReading) {
  const query = { createdAfter: since, createdBefore: until }
  return client.auditEvents(sourceOf(source), query, { ...call, from: next })
}

function withPage(window: AuditWindow, items: readonly RestAuditEvent[], servedAt: Millis | undefined): AuditWindow {
  const marks = items.map(({ id, createdAt }): AuditMark => [id, createdAt])
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
  return marks.reduce<AuditMark | undefined>(
    (newest, one) => (newest === undefined || later(one, newest) ? one : newest),
    undefined,
  )
}

function later(one: AuditMark, other: AuditMark): boolean {
  return one[1] > other[1] || (one[1] === other[1] && one[0] > other[0])
}

/** Of these the ones that may be read once more after the stretch ended at `until`, else at the newest of them; each once. */
export function lastMinutes(marks: readonly AuditMark[], until: Millis | undefined): AuditMark[] {
  const from = (until ?? newestOf(marks)?.[1] ?? 0) - overlap
  const byId = new Map(marks.filter(([, at]) => at >= from).map(mark => [mark[0], mark]))
  return [...byId.values()].sort((a, b) => b[1] - a[1]).slice(0, mostRecent)
}

/** False when page after page has no number beyond those seen: a list in the order of numbers does not do that. */
function createAdvance(): (items: readonly RestAuditEvent[]) => boolean {
  let lowest = Infinity
  let highest = -Infinity
  let stalled = 0
  return items => {
    const ids = items.map(({ id }) => id)
    const isNew = ids.some(id => id < lowest || id > highest)
    lowest = Math.min(lowest, ...ids)
    highest = Math.max(highest, ...ids)
    stalled = isNew ? 0 : stalled + 1
    return stalled < mostStalled
  }
}

function leadsNowhere(): PlatformError {
  return new PlatformError({
    kind: 'unexpected-answer',
    what: `The list of audit events repeats itself: ${mostStalled} pages in a row had nothing new.`,
    remedy: 'It is retried later; if this persists, report it to the administrator of the platform.',
  })
}
