// Reads the pipelines that the token's own user started, in all projects. The platform orders this list by creation time. So each read goes back to
// the oldest active pipeline, and occasionally over the whole lookback period, to find retries.
import { isBlocked, isTerminal } from '../../model/status.ts'
import { overlap, type PollContext } from './poll-context.ts'
import { PlatformError, type ListedPipeline, type Page, type PlatformClient } from '../../platform/port.ts'
import type { Repositories } from '../store/ports/repository.ts'

const day = 24 * 3_600_000

/** The name of the list in logs. */
export const ownPipelines = "the token's own pipelines"

/**
 * Yields the client's list of the pipelines that the token's user started. Older platforms lack this list; the error then names the settings that
 * work without the list.
 */
export async function* ownPipelinesOf(
  client: PlatformClient,
  ...[query, call]: Parameters<PlatformClient['ownPipelines']>
): AsyncGenerator<Page<ListedPipeline>, void> {
  try {
    yield* client.ownPipelines(query, call)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind !== 'not-found') throw error
    const { kind, status, endpoint } = error
    throw new PlatformError({
      ...{ kind, status, endpoint },
      what: "The platform has no list of a user's pipelines in all projects (404 at GET /pipelines).",
      remedy:
        'Name the projects in poll.projects (PIPESPAN_POLL_PROJECTS) or poll.groups (PIPESPAN_POLL_GROUPS), ' +
        'and turn off poll.mine (PIPESPAN_POLL_MINE).',
    })
  }
}

/**
 * Reads the pipelines that the token's user started. `scope` is the key of the stored state. If `whole` is true, at least the whole lookback period
 * is read. Rejects with a PlatformError.
 */
export async function readOwnPipelines(
  context: PollContext,
  stored: Repositories['ownPipelines'],
  { scope: instance, lookback, whole }: { readonly scope: string; readonly lookback: number; readonly whole: boolean },
): Promise<void> {
  const known = await stored.get({ instance })
  const earliest = context.now() - Math.max(day, lookback)
  const from =
    // If the stored time is in the future, it was written while the clock was ahead.
    known === undefined || whole || known.newest > context.now() + overlap
      ? context.now() - lookback
      : known.newest - overlap
  const since = Math.max(earliest, Math.min(from, known?.oldestActive ?? Infinity))
  const seen: ListedPipeline[] = []
  for (const source of [undefined, 'parent_pipeline']) {
    const query = { createdAfter: since, ...(source !== undefined && { source }) }
    for await (const page of ownPipelinesOf(context.client, query, context.call)) {
      context.observeTime(page.servedAt)
      await context.discover(page.items)
      seen.push(...page.items)
    }
  }
  let newest = Math.min(known?.newest ?? since, context.now())
  let oldestActive = Infinity
  for (const { createdAt, status } of seen) {
    if (createdAt === undefined) continue
    newest = Math.max(newest, createdAt)
    if (!isTerminal(status) && !isBlocked(status)) oldestActive = Math.min(oldestActive, createdAt)
  }
  await stored.put({ instance, newest, ...(oldestActive < Infinity && { oldestActive }) })
}
