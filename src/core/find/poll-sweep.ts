// The slow sweep: once a day every project in a list is read, even without recent activity, a few in each round. After a restart the sweep continues
// where it stopped.
import { maxItems, PlatformError } from '../../platform/port.ts'
import { overlap, type PollContext } from './poll-context.ts'
import type { Millis } from '../../model/instant.ts'
import type { PlatformProject } from '../../platform/port.ts'
import type { ProjectList } from './poll-due.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Sweep as StoredSweep } from '../store/ports/discovery-documents.ts'

type SweepState = Omit<StoredSweep, 'instance' | 'group'>

export interface SweepOptions {
  /** The first part of the store key of the sweep's state. The key of the list follows. */
  readonly scope: string
  readonly list: ProjectList
  readonly context: PollContext
  readonly sweeps: Repositories['sweeps']
  /** The time between two polling rounds, ms. */
  readonly interval: number
  /** The period in ms, up to the present, that the first sweep reads. */
  readonly lookback: number
  /** True for a project that polling rounds already read without the sweep. */
  readonly isKnown: (project: PlatformProject) => boolean
  /** Reads a project. Returns false if the polling round must end. */
  readonly look: (project: PlatformProject, since: Millis) => Promise<boolean>
}

/**
 * Runs the sweep's part of a round, with at most `allowance` requests. Returns true if the platform has answered with a page of the list, and no
 * project has failed since then.
 */
export type Sweep = (allowance: number) => Promise<boolean>

const day = 24 * 3_600_000
/** The fraction of a day over which a sweep is spread. */
const dayShare = 0.9
/**
 * The number of consecutive rounds that one project may end early. After that, the sweep skips the project until the next sweep, so that it reads the
 * other projects too.
 */
const maxEndedRounds = 3

export function createSweep(options: SweepOptions): Sweep {
  const { list, scope, context, sweeps, interval, lookback } = options
  const key = { instance: scope, group: list.key }
  let ended: { readonly id: number; readonly times: number } | undefined
  let page:
    | { readonly items: PlatformProject[]; readonly next: string | undefined; readonly from: string | undefined }
    | undefined

  /** The number of pages of the list that the platform has sent. */
  let pages = 0

  async function load(): Promise<SweepState> {
    const known = await sweeps.get(key)
    const now = context.now()
    if (known === undefined) {
      const first = { startedAt: now, since: now - lookback, count: 0, done: false }
      await save(first)
      return first
    }
    // If the stored start of the sweep is in the future, it was written while the clock was ahead.
    if (known.startedAt > now) return { ...known, startedAt: now }
    // The first sweep runs as fast as the API budget allows, and the second follows at once. From then on a sweep starts every day.
    if (!known.done || (known.before !== undefined && now - known.startedAt < day)) return known
    return { startedAt: now, since: known.startedAt - overlap, count: 0, before: known.count, done: false }
  }

  async function save(state: SweepState): Promise<void> {
    await sweeps.put({ ...state, ...key })
  }

  /** Returns the projects on the page at `from` that have not been read yet. */
  async function pageAt({ next: from, count }: SweepState): Promise<NonNullable<typeof page>> {
    if (page !== undefined && page.from === from) return page
    try {
      for await (const { items, next, servedAt } of list.pages(
        {},
        { ...context.call, from, max: Math.max(1, maxItems - count) },
      )) {
        context.observeTime(servedAt)
        pages += 1
        page = { items: [...items], next, from }
        return page
      }
    } catch (error) {
      // The platform limits how many pages can be requested by offset, so this error means the end of the list.
      if (from === undefined || !(error instanceof PlatformError && error.kind === 'refused')) throw error
    }
    return { items: [], next: undefined, from }
  }

  return async allowance => {
    let now = await load()
    if (now.done) return false
    const before = pages
    const quota = now.before === undefined ? allowance : Math.ceil((now.before * interval) / (day * dayShare))
    const end = context.requests() + Math.min(allowance, quota)
    while (!now.done && context.requests() < end) {
      const current = await pageAt(now)
      while (current.items.length > 0 && context.requests() < end) {
        const [project] = current.items
        if (project === undefined) break
        const skip = project.archived || options.isKnown(project)
        if (!skip && !(await options.look(project, now.since))) {
          ended = { id: project.id, times: ended?.id === project.id ? ended.times + 1 : 1 }
          if (ended.times < maxEndedRounds) {
            await save(now)
            return false
          }
        }
        current.items.shift()
        now = { ...now, count: now.count + 1 }
      }
      if (current.items.length > 0) break
      // The page itself counts as one more item, so that the sweep ends even if the list consists of empty pages.
      const count = now.count + 1
      const done = current.next === undefined || count >= maxItems
      now = { ...now, count, done, ...(current.next !== undefined && { next: current.next }) }
      page = undefined
      await save(now)
    }
    await save(now)
    return pages > before
  }
}
