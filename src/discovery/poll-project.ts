// Reads one project once: its changed pipelines, and their child pipelines.
import { changedPipelines } from './poll-list.ts'
import { maxPages } from './list-limits.ts'
import { overlap, type PollContext } from './poll-context.ts'
import { withItems, type BookEntry } from './poll-book.ts'
import type { ProjectFacts } from '../model/observation.ts'

const day = 24 * 3_600_000

export interface LookOptions {
  readonly context: PollContext
  /** Stores the entry: after each page, once its pipelines are in the store. */
  readonly put: (entry: BookEntry) => Promise<void>
  /** Read child pipelines even if nothing else has changed. */
  readonly children: boolean
  readonly facts?: ProjectFacts | undefined
}

export interface ProjectRead {
  readonly entry: BookEntry
  /** Pipelines that show something new. */
  readonly found: number
  readonly children: boolean
}

/** Rejects with a PlatformError; what was seen until then is written down. After 500 pages the next look goes on. */
export async function lookAt(before: BookEntry, options: LookOptions): Promise<ProjectRead> {
  const own = await read(before, undefined, options)
  const moved = own.changed || own.entry.active.length > 0
  if (!moved && !options.children) return { ...own, children: false }
  const children = await read(own.entry, 'parent_pipeline', options)
  return { entry: children.entry, found: own.found + children.found, children: true }
}

async function read(
  before: BookEntry,
  source: 'parent_pipeline' | undefined,
  { context, put, facts }: LookOptions,
): Promise<{ entry: BookEntry; found: number; changed: boolean }> {
  const cursor = source === undefined ? 'seen' : 'childrenSeen'
  // A later time was written under a clock that was ahead: then the last day is read again.
  const seen = before[cursor] > context.now() + overlap ? context.now() - day : before[cursor]
  let entry = { ...before, [cursor]: seen }
  let found = 0
  let pages = 0
  const since = seen - overlap
  for await (const step of changedPipelines(context.client, before.project, { since, source }, context.call)) {
    context.observeTime(step.servedAt)
    found += await context.discover(step.items, facts)
    entry = { ...withItems(entry, step.items), [cursor]: Math.max(entry[cursor], step.seen) }
    if (entry.ranAt > 0) await put(entry)
    if (++pages === maxPages) break
  }
  return { entry, found, changed: entry[cursor] > seen }
}
