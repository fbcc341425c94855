// What the poller remembers of each project that ran anything lately: how far it has seen, what is under way, when it asked.
import { z } from 'zod'
import type { Notes } from '../store/ports/notes.ts'
import type { Millis } from '../model/instant.ts'
import type { PipelineListItem } from '../platform/rest/lists.ts'
import { isBlocked, isTerminal } from '../model/status.ts'

const entry = z.object({
  /** How it is asked for: its id, or the path the operator gave. */
  project: z.union([z.number(), z.string()]),
  path: z.string().optional(),
  /** All changes before this have been seen; the platform's time. */
  seen: z.number(),
  childrenSeen: z.number(),
  /** The last change of anything in it; the platform's time. */
  ranAt: z.number(),
  /** Pipelines under way, and when they were last seen to change; the platform's time. */
  active: z.array(z.tuple([z.number(), z.number()])),
})

export type BookEntry = z.infer<typeof entry>

export interface PollBook {
  entries(): IterableIterator<BookEntry>
  get(project: number | string): BookEntry | undefined
  /** Writes it down, if it has changed. */
  put(entry: BookEntry): Promise<void>
  /** Forgets it: it has not run anything for long. */
  drop(project: number | string): Promise<void>
}

const prefix = 'poll/project/'
const day = 24 * 3_600_000
/** Who has not changed for so long is not followed round by round any more, ms. */
const longestActive = 3 * day
/** Pipelines under way that are remembered by id; of more the latest. */
const mostActive = 500

/** Reads what an earlier process or another replica has stored. */
export async function openBook(notes: Notes, instance: string): Promise<PollBook> {
  const nameOf = (project: number | string): string => `${prefix}${instance}/${project}`
  const stored = await notes.list(nameOf(''))
  const book = new Map<string, BookEntry>()
  for (const value of stored.values()) {
    const { data } = entry.safeParse(value)
    if (data !== undefined) book.set(nameOf(data.project), data)
  }
  return {
    entries: () => book.values(),
    get: project => book.get(nameOf(project)),
    put: async changed => {
      const name = nameOf(changed.project)
      if (JSON.stringify(book.get(name)) === JSON.stringify(changed)) return
      book.set(name, changed)
      await notes.change(name, () => ({ value: changed, result: undefined }))
    },
    drop: async project => {
      book.delete(nameOf(project))
      await notes.change(nameOf(project), () => ({ value: undefined, result: undefined }))
    },
  }
}

export function newEntry(project: number | string, since: Millis, path?: string): BookEntry {
  return { project, ...(path !== undefined && { path }), seen: since, childrenSeen: since, ranAt: 0, active: [] }
}

/** The entry after a page of its list. */
export function withItems(before: BookEntry, items: readonly PipelineListItem[]): BookEntry {
  const active = new Map(before.active)
  let { ranAt } = before
  for (const { id, status, updatedAt = 0 } of items) {
    ranAt = Math.max(ranAt, updatedAt)
    if (isTerminal(status) || isBlocked(status)) active.delete(id)
    else active.set(id, updatedAt)
  }
  const alive = [...active].filter(([, at]) => at > ranAt - longestActive).slice(-mostActive)
  return { ...before, ranAt, active: alive }
}
