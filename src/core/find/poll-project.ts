// Reads one project once: its changed pipelines, and their child pipelines.
import { maxPages } from './limits.ts'
import { overlap, type PollContext } from './poll-context.ts'
import { withItems, type BookEntry } from './poll-book.ts'
import { changedAt } from './discovered-run.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { CallOptions, ListedPipeline, Page, PlatformClient, ResourceId } from '../../platform/port.ts'
import type { Millis } from '../../model/instant.ts'

const day = 24 * 3_600_000

export interface LookOptions {
  readonly context: PollContext
  /** Stores the project's entry. Called after each page, once the pipelines on the page are in the store. */
  readonly put: (entry: BookEntry) => Promise<void>
  /** Whether the running and pending pipelines are read first, even if they have not changed since the project was last read. */
  readonly underWay?: boolean | undefined
  /** Whether child pipelines are read even if nothing else in the project has changed. */
  readonly children: boolean
  readonly facts?: ProjectFacts | undefined
}

export interface ProjectRead {
  readonly entry: BookEntry
  /** The number of pipelines that show new facts. */
  readonly found: number
  readonly children: boolean
}

/**
 * Reads the changed pipelines of a project. Rejects with a PlatformError; everything that was read before the error is stored. After 500 pages it
 * stops, and the next call continues.
 */
export async function lookAt(before: BookEntry, options: LookOptions): Promise<ProjectRead> {
  const begun = options.underWay === true ? await readUnderWay(before, options) : { entry: before, found: 0 }
  const own = await read(begun.entry, undefined, options)
  const found = begun.found + own.found
  const moved = own.changed || own.entry.active.length > 0
  if (!moved && !options.children) return { entry: own.entry, found, children: false }
  const children = await read(own.entry, 'parent_pipeline', options)
  return { entry: children.entry, found: found + children.found, children: true }
}

/** Reads the running and pending pipelines, whenever they last changed. Does not advance the cursors. */
async function readUnderWay(
  before: BookEntry,
  { context, put, facts }: LookOptions,
): Promise<{ entry: BookEntry; found: number }> {
  let entry = before
  let found = 0
  for (const scope of ['running', 'pending'] as const) {
    for await (const { items, servedAt } of context.client.projectPipelines(before.project, { scope }, context.call)) {
      context.observeTime(servedAt)
      found += await context.discover(items, facts)
      entry = withItems(entry, items, context.now())
    }
  }
  if (entry.ranAt > 0) await put(entry)
  return { entry, found }
}

async function read(
  before: BookEntry,
  source: 'parent_pipeline' | undefined,
  { context, put, facts }: LookOptions,
): Promise<{ entry: BookEntry; found: number; changed: boolean }> {
  const cursor = source === undefined ? 'seen' : 'childrenSeen'
  // If the stored time is in the future, it was written while the clock was ahead. In that case the last day is read again.
  const seen = before[cursor] > context.now() + overlap ? context.now() - day : before[cursor]
  let entry = { ...before, [cursor]: seen }
  let found = 0
  let pages = 0
  const since = seen - overlap
  for await (const step of changedPipelines(context.client, before.project, { since, source }, context.call)) {
    context.observeTime(step.servedAt)
    found += await context.discover(step.items, facts)
    entry = { ...withItems(entry, step.items, context.now()), [cursor]: Math.max(entry[cursor], step.seen) }
    if (entry.ranAt > 0) await put(entry)
    if (++pages === maxPages) break
  }
  return { entry, found, changed: entry[cursor] > seen }
}

// Reads a project's changed pipelines in the order of their changes, without missing one.
//
// When a pipeline changes, it moves to the end of the list, and the pipelines after it move up, so page 2 would skip one. Therefore, after each page,
// a new list that starts at the time of the last change seen is requested. This repeats some pipelines and skips none.
interface ListQuery {
  readonly since: Millis
  readonly until?: Millis | undefined
  /** The source of the pipelines: `parent_pipeline` lists child pipelines, which the platform omits from the list by default. */
  readonly source?: string | undefined
}

interface ListStep {
  readonly items: readonly ListedPipeline[]
  /** The time on the platform's clock before which all changes have been seen. */
  readonly seen: Millis
  readonly servedAt?: Millis | undefined
}

/** Yields the list page by page. The next page is requested once the caller has processed the current one. */
export async function* changedPipelines(
  client: PlatformClient,
  project: ResourceId,
  { since, until, source }: ListQuery,
  call: CallOptions,
): AsyncGenerator<ListStep, void> {
  let from = since
  for (;;) {
    let again = false
    const query = { updatedAfter: from, updatedBefore: until, source }
    for await (const page of client.projectPipelines(project, query, call)) {
      const seen = lastChange(page) ?? from
      yield { items: page.items, seen, ...(page.servedAt !== undefined && { servedAt: page.servedAt }) }
      // If all pipelines on a page changed at the same instant, the next page can only be requested by its page number.
      if (page.next !== undefined && seen - 1 > from) {
        from = seen - 1
        again = true
        break
      }
    }
    if (!again) return
  }
}

function lastChange({ items }: Page<ListedPipeline>): Millis | undefined {
  const times = items.map(changedAt).filter(time => time !== undefined)
  return times.length === 0 ? undefined : Math.max(...times)
}
