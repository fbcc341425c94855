// The poller's state of each recently active project: how far it has read, and which pipelines are active.
import { changedAt } from './discovered-run.ts'
import type { Millis } from '../../model/instant.ts'
import type { ListedPipeline } from '../../platform/port.ts'
import type { PolledProject } from '../store/ports/discovery-documents.ts'
import type { Repositories } from '../store/ports/repository.ts'
import { isBlocked, isTerminal } from '../../model/status.ts'

export type BookEntry = Omit<PolledProject, 'instance'>

export interface PollBook {
  entries(): IterableIterator<BookEntry>
  get(project: number | string): BookEntry | undefined
  /** Stores it, if it has changed. */
  put(entry: BookEntry): Promise<void>
  drop(project: number | string): Promise<void>
}

const day = 24 * 3_600_000
/** An active pipeline that has not changed for this time no longer makes its project urgent, ms. */
const maxActiveAge = 3 * day
/** The maximum of active pipelines that are remembered, the latest. */
const maxActive = 500

/** Reads what an earlier process or another replica has stored. */
export async function openBook(stored: Repositories['polledProjects'], instance: string): Promise<PollBook> {
  const own = (await stored.all()).filter(one => one.instance === instance)
  const book = new Map<BookEntry['project'], BookEntry>(own.map(({ instance: _, ...entry }) => [entry.project, entry]))
  return {
    entries: () => book.values(),
    get: project => book.get(project),
    put: async changed => {
      if (JSON.stringify(book.get(changed.project)) === JSON.stringify(changed)) return
      book.set(changed.project, changed)
      await stored.put({ instance, ...changed })
    },
    drop: async project => {
      book.delete(project)
      await stored.remove({ instance, project })
    },
  }
}

export function newEntry(project: number | string, since: Millis, path?: string): BookEntry {
  return { project, ...(path !== undefined && { path }), seen: since, childrenSeen: since, ranAt: 0, active: [] }
}

/** The entry after a page of its list. `now`: on the platform's clock, for lists without times. */
export function withItems(before: BookEntry, items: readonly ListedPipeline[], now: Millis): BookEntry {
  const active = new Map(before.active)
  let { ranAt } = before
  for (const item of items) {
    const { id, status } = item
    const at = changedAt(item) ?? now
    ranAt = Math.max(ranAt, at)
    if (isTerminal(status) || isBlocked(status)) active.delete(id)
    else active.set(id, at)
  }
  const alive = [...active].filter(([, at]) => at > ranAt - maxActiveAge).slice(-maxActive)
  return { ...before, ranAt, active: alive }
}
