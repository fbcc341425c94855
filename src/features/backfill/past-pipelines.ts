// Reads the pipelines of a past time range, project by project, and queues them behind new pipelines; the daemon fetches and exports them. An
// interrupted backfill resumes. Pipelines that were already exported are skipped.
import { changedPipelines } from '../../core/find/poll-project.ts'
import { documentKind } from '../../core/store/ports/repository.ts'
import { z } from 'zod'
import { isNew } from '../../core/find/discovered-run.ts'
import { ownPipelines, ownPipelinesOf } from '../../core/find/poll-own-pipelines.ts'
import { projectListsOf } from '../../core/find/poll-due.ts'
import {
  concernsOne,
  endlessListError,
  maxBackfillPages,
  maxRefusals,
  mayConcernAll,
  unlessRefused,
} from '../../core/find/limits.ts'
import { PlatformError, type ListedPipeline, type ResourceId } from '../../platform/port.ts'
import type { BackfillRequest, BackfillResult } from '../../daemon/feature-commands.ts'
import type { PollContext } from '../../core/find/poll-context.ts'
import type { PollScope } from '../../core/find/poll-scope.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

/** The progress of a backfill, stored so that an interrupted backfill can resume. Times are the platform's. */
export const progressShape = z.object({
  instance: z.string(),
  /** A name derived from the command's options, so that the same command resumes the backfill. */
  name: z.string(),
  since: z.number(),
  until: z.number(),
  startedAt: z.number(),
  /** Set once the pipelines of the token's user have been read. */
  own: z.literal('read').optional(),
  /** All projects up to and including this id have been read. */
  after: z.number(),
  /** The time up to which the first project after `after` has been read. */
  seen: z.number().optional(),
})
type BackfillState = Omit<z.infer<typeof progressShape>, 'instance' | 'name'>

export const backfillProgress = documentKind('backfill', progressShape, ['instance', 'name'])

/** Options for reading past pipelines. `name`: a backfill with the same name as an interrupted one resumes it, within a week. */
export interface PastPipelinesOptions extends Pick<BackfillRequest, 'name' | 'range' | 'dryRun'> {
  /** The polling context, created for the source `backfill`. */
  readonly context: PollContext
  readonly store: Pick<SharedStore, 'repositories' | 'runs'>
  readonly scope: PollScope
  readonly onProgress: (progress: PastPipelines) => void
  /** Unix time in milliseconds. */
  readonly now: () => number
  /** Maximum number of pages read per list or source. The default is `maxBackfillPages`. */
  readonly maxPages?: number | undefined
}

/** The progress of a backfill. `range`: if the backfill was resumed, the range of the interrupted one. */
export interface PastPipelines extends Pick<BackfillResult, 'range' | 'resumed'> {
  readonly projects: { readonly done: number; readonly all: number }
  /** Number of pipelines seen in this run of the command. */
  readonly seen: number
  /** Number of pipelines about which the platform reported something new. */
  readonly found: number
  readonly requests: number
  /** Projects or lists that could not be read, with the reason. */
  readonly failed: readonly { readonly project: string; readonly reason: string }[]
}

const week = 7 * 24 * 3_600_000

/**
 * Reads the pipelines of a past time range. Rejects with a PlatformError if it affects every project, or with the reason of the context's aborted
 * signal.
 */
export async function readPastPipelines(options: PastPipelinesOptions): Promise<PastPipelines> {
  const { context, store, range, dryRun, now, maxPages = maxBackfillPages } = options
  const backfills = store.repositories.of(backfillProgress)
  const key = { instance: context.client.instance, name: options.name }
  const known = await backfills.get(key)
  const resumed = !dryRun && known !== undefined && now() - known.startedAt < week
  let at: BackfillState = resumed ? known : { ...range, startedAt: now(), after: 0 }
  const counts = { seen: 0, found: 0, done: 0, all: 0 }
  const failed: { project: string; reason: string }[] = []
  /**
   * The number of rejections since the last project that could be read. They may affect every project, so after a few of them the backfill fails. The
   * first few count only as failures of their own projects.
   */
  let refusals = 0
  /** The pipelines in the list of the token's user. The project lists contain them again. */
  const ofUser = new Set<number>()

  const progress = (): PastPipelines => ({
    range: { since: at.since, until: at.until },
    resumed,
    projects: { done: counts.done, all: counts.all },
    seen: counts.seen,
    found: counts.found,
    requests: context.requests(),
    failed,
  })

  async function save(next: BackfillState): Promise<void> {
    at = next
    if (!dryRun) await backfills.put({ ...next, ...key })
    options.onProgress(progress())
  }

  async function discoverAll(listed: readonly ListedPipeline[]): Promise<void> {
    const items = listed.filter(({ id }) => !ofUser.has(id))
    counts.seen += items.length
    counts.found += dryRun ? await countFound(items, options) : await context.discover(items)
  }

  async function readProject(project: ResourceId): Promise<void> {
    const { until } = at
    // An interrupted backfill resumes in the order of project ids, so only a project with an id can be resumed midway.
    const seen = typeof project === 'number' ? at.seen : undefined
    let any = false
    let pages = 0
    for await (const step of changedPipelines(
      context.client,
      project,
      { since: seen ?? at.since, until },
      context.call,
    )) {
      any ||= step.items.length > 0
      if ((pages += 1) > maxPages) throw endlessListError('pipelines', maxPages)
      await discoverAll(step.items)
      if (typeof project === 'number') await save({ ...at, seen: step.seen })
    }
    // A project without pipelines in this range has no child pipelines either.
    if (!any && seen === undefined) return
    const children = { since: at.since, until, source: 'parent_pipeline' }
    for await (const step of changedPipelines(context.client, project, children, context.call)) {
      if ((pages += 1) > maxPages) throw endlessListError('pipelines', maxPages)
      await discoverAll(step.items)
    }
  }

  /**
   * Reads the pipelines of the token's user by creation time, which is the only order that this list offers. After an interruption it starts over,
   * because the list is short and known pipelines are skipped.
   */
  async function readOwn(): Promise<void> {
    const { since: createdAfter, until: createdBefore } = at
    for (const source of [undefined, 'parent_pipeline']) {
      const query = { createdAfter, createdBefore, source }
      const call = { ...context.call, max: maxPages * 100 }
      for await (const { items, left } of ownPipelinesOf(context.client, query, call)) {
        await discoverAll(items)
        if (left !== undefined) throw endlessListError(ownPipelines, maxPages)
        for (const { id } of items) ofUser.add(id)
        options.onProgress(progress())
      }
    }
  }

  if (options.scope.ownPipelines && at.own !== 'read') {
    try {
      await readOwn()
    } catch (error) {
      // A rejected token does not end the backfill here: if it is rejected everywhere, the next request fails, too.
      const isRefused = error instanceof PlatformError && error.kind === 'unauthorized'
      if (!concernsOne(error) && !isRefused) throw error
      failed.push({ project: ownPipelines, reason: error.message })
    }
    await save({ ...at, own: 'read' })
  }
  const { ids, paths } = await projectsOf(options)
  counts.all = ids.length + paths.length
  for (const project of [...ids, ...paths]) {
    counts.done += 1
    if (typeof project === 'number' && project <= at.after) continue
    try {
      await readProject(project)
      refusals = 0
    } catch (error) {
      const mayBeOwn = mayConcernAll(error) && ++refusals < Math.min(maxRefusals, counts.all)
      if (!concernsOne(error) && !mayBeOwn) throw error
      failed.push({ project: String(project), reason: error.message })
      // The project is not marked as done. The rejection may affect every project, and then this one must be read again.
      if (mayBeOwn) continue
    }
    const { seen: _, ...rest } = at
    await save(typeof project === 'number' ? { ...rest, after: project } : rest)
  }
  if (!dryRun) await backfills.remove(key)
  return progress()
}

/**
 * Returns the projects to read, in ascending order of their ids, so that the last id is enough to resume. `paths` are the paths of projects that the
 * token may not read, although it may be allowed to read the pipelines of these projects. After an interruption, their pipelines are read again.
 */
async function projectsOf({
  context,
  scope: { projects, groups, memberProjects },
}: PastPipelinesOptions): Promise<{ readonly ids: readonly number[]; readonly paths: readonly string[] }> {
  const ids = new Set<number>()
  const paths: string[] = []
  for (const project of projects) {
    const found = /^\d+$/.test(project) ? { id: Number(project) } : await projectAt(project)
    if (found === undefined) paths.push(project)
    else ids.add(found.id)
  }
  for (const { pages } of projectListsOf(context.client, groups, memberProjects)) {
    for await (const page of pages({}, context.call)) {
      for (const { id } of page.items) ids.add(id)
    }
  }
  return { ids: [...ids].sort((a, b) => a - b), paths }

  async function projectAt(path: string): Promise<{ readonly id: number } | undefined> {
    try {
      return await unlessRefused(context.client.project(path, context.call))
    } catch (error) {
      if (mayConcernAll(error)) return undefined
      throw error
    }
  }
}

async function countFound(items: readonly ListedPipeline[], { store, context }: PastPipelinesOptions): Promise<number> {
  let found = 0
  for (const item of items) {
    const known = await store.runs.get({ instance: context.client.instance, pipelineId: item.id })
    if (known === undefined || isNew(known, item)) found += 1
  }
  return found
}
