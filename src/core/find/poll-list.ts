// Reads a project's changed pipelines in the order of their changes, without missing one.
//
// A change moves a pipeline to the end of the list, and those behind it move up: page 2 would then skip one. So after each page a new list begins at
// the last time seen, which repeats some and skips none.
import { changedAt } from './discovered-run.ts'
import type { CallOptions, ListedPipeline, Page, PlatformClient, ResourceId } from '../../platform/port.ts'
import type { Millis } from '../../model/instant.ts'

export interface ListQuery {
  readonly since: Millis
  readonly until?: Millis | undefined
  /** `parent_pipeline`: children, which the list leaves out otherwise. */
  readonly source?: string | undefined
}

export interface ListStep {
  readonly items: readonly ListedPipeline[]
  /** All that changed before this instant (the platform's time) has been seen. */
  readonly seen: Millis
  readonly servedAt?: Millis | undefined
}

/** Yields page by page; the next page is requested when the caller is done with this one. */
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
      // If all of a page changed in the same instant, only the page number leads on.
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
