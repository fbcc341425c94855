// What may be on the list of what to fix first: features find it, and one of them ranks all of it by what it costs.
import { Slot } from '../../lib/slot.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesParts } from '../ports.ts'

export interface FixSource {
  /** `flaky_test`: shown as “flaky test”. */
  readonly kind: string
  /** What each cost in this period, which is a week. */
  readonly read: (parts: PagesParts, since: Millis, until: Millis) => Promise<readonly FoundFix[]>
}

export interface FoundFix {
  readonly subject: string
  /** Full path; undefined if several projects share it. */
  readonly project?: string | undefined
  /** What it costs per week, ms. */
  readonly weekMs: number
  /** In the currency unit of the price table. */
  readonly cost?: number | undefined
  /** The job whose time it is, for its price; an empty name: the project's pipelines. */
  readonly of?: { readonly projectId: number; readonly job: string } | undefined
  readonly why: string
  /** The page with more. */
  readonly path: string
}

export const fixSources = new Slot<FixSource>()
