// Reads a project's changed pipelines in the order of their changes, and misses none that move meanwhile.
//
// A pipeline that changes moves to the list's end, and all behind it move up by one: whoever goes on with the next page by
// its number misses one. So after each page the list is begun anew at the last time seen, which repeats some and skips none.
import type { CallOptions } from '../platform/rest/call.ts'
import type { Millis } from '../model/instant.ts'
import type { Page } from '../platform/rest/pages.ts'
import type { PipelineListItem } from '../platform/rest/lists.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { ResourceId } from '../platform/rest/query.ts'

export interface ListQuery {
  readonly since: Millis
  readonly until?: Millis | undefined
  /** `parent_pipeline`: children, which the list leaves out otherwise. */
  readonly source?: string | undefined
}

export interface ListStep {
  readonly items: readonly PipelineListItem[]
  /** All that changed before this instant (the platform's time) has been seen. */
  readonly seen: Millis
  readonly servedAt?: Millis | undefined
}

/** Page by page; whoever reads it has dealt with a step before the next is asked for. */
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
      // A page full of one instant can only be gone on from by its number.
      if (page.next !== undefined && seen - 1 > from) {
        from = seen - 1
        again = true
        break
      }
    }
    if (!again) return
  }
}

function lastChange({ items }: Page<PipelineListItem>): Millis | undefined {
  const times = items.map(item => item.updatedAt ?? item.createdAt).filter(time => time !== undefined)
  return times.length === 0 ? undefined : Math.max(...times)
}
