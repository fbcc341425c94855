// The poller's state for each project. The book, which is in the store, records how far each project was read and which pipelines are active. The
// round in which the project was last read, and whether the project is due again, are only in memory.
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
  /** Stores the entry of a project if it has changed. */
  put(entry: BookEntry): Promise<void>
  drop(project: number | string): Promise<void>
}

const hour = 3_600_000
/** The age in ms beyond which an unchanged active pipeline no longer makes its project urgent. */
const maxActiveAge = 72 * hour
/** The maximum number of active pipelines that are stored for a project. The latest are kept. */
const maxActive = 500

/** Reads the entries that an earlier process or another replica has stored. */
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

/**
 * Returns the updated entry of a project after a page of its list was read. `now` is the time on the platform's clock; it is used for lists without
 * times.
 */
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

type Project = BookEntry['project']

interface Turn {
  /** The rounds in which the project and its child pipelines were last requested; -Infinity means never. */
  readonly round: number
  readonly children: number
  /** The number of failed requests for the project since the round in which it was last requested. */
  readonly failures: number
}

export interface PollTurns {
  /** Whether `every` rounds have passed since the project was last requested. Repeated failures double the interval each time, up to an hour. */
  isDue(project: Project, every: number): boolean
  areChildrenDue(project: Project, every: number): boolean
  /** Records that the platform responded to requests about a project. `children` means that its child pipelines were read too. */
  answered(project: Project, children: boolean): void
  failed(project: Project): void
  /** Returns the round in which the project was last requested; 0 means never. */
  lastRound(project: Project): number
  /** Drops the projects that `which` selects, as if they had never been read. */
  forget(which: (project: Project) => boolean): void
}

const never: Turn = { round: -Infinity, children: -Infinity, failures: 0 }

/**
 * Records in which round each project was polled. `now` returns the number of the current round, and `interval` is the time between two rounds in ms.
 */
export function createPollTurns(now: () => number, interval: number): PollTurns {
  const turns = new Map<Project, Turn>()
  const turnOf = (project: Project): Turn => turns.get(project) ?? never
  return {
    isDue: (project, every) => {
      const { round, failures } = turnOf(project)
      const rest = failures < 2 ? every : Math.max(every, Math.min(hour / interval, 2 ** failures))
      return now() - round >= rest
    },
    areChildrenDue: (project, every) => now() - turnOf(project).children >= every,
    answered: (project, children) => {
      turns.set(project, { round: now(), children: children ? now() : turnOf(project).children, failures: 0 })
    },
    failed: project => {
      const before = turnOf(project)
      turns.set(project, { ...before, round: now(), failures: before.failures + 1 })
    },
    lastRound: project => Math.max(0, turnOf(project).round),
    forget: which => {
      for (const project of [...turns.keys()]) if (which(project)) turns.delete(project)
    },
  }
}
