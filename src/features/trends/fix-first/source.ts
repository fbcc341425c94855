// What may be on the list of what to fix first. Other features add to it.
import type { Fix } from './shape.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts } from '../../../console/ports.ts'
import { Slot } from '../../../console/slot.ts'

export interface FixSource {
  /** `flaky_test`: shown as “flaky test”. */
  readonly kind: string
  /** What each cost in this period, which is a week. */
  readonly read: (parts: PagesParts, since: Millis, until: Millis) => Promise<readonly FoundFix[]>
}

export interface FoundFix extends Omit<Fix, 'kind'> {
  /** The job whose time it is, for its price; an empty name: the project's pipelines. */
  readonly of?: { readonly projectId: number; readonly job: string } | undefined
}

export const fixSources = new Slot<FixSource>()
