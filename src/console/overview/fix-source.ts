// What features add to the list of what to fix first.
import type { Fix } from './fix-first-shape.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSources } from '../ports.ts'
import { Slot } from '../slot.ts'

export interface FixSource {
  /** `flaky_test`: shown as “flaky test”. */
  readonly kind: string
  /** What each cost in this period, which is a week. */
  readonly read: (parts: PagesSources, since: Millis, until: Millis) => Promise<readonly FoundFix[]>
}

/** `of`: the job whose time it is, for its price; an empty name: the project's pipelines. */
export interface FoundFix extends Omit<Fix, 'kind' | 'cost'> {
  readonly of: { readonly projectId: number; readonly job: string }
}

export const fixSources = new Slot<FixSource>()
