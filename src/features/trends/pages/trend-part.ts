// What features add to the page of trends: a card, periods in its charts, and fields of the answer of the JSON API.
import type { BranchClass } from '../../../model/pipeline.ts'
import type { ChartMark } from '../../../console/charts/plot.ts'
import type { Content } from '../../../console/layout/html.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts } from '../../../console/ports.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'
import { Slot } from '../../../lib/slot.ts'
import type { z } from 'zod'

/** What the trends are of. */
export interface TrendScope {
  readonly projectId?: number | undefined
  /** A path that ends with a slash. */
  readonly group?: string | undefined
  readonly own?: string | undefined
  readonly job?: string | undefined
  readonly branch?: BranchClass | undefined
}

export interface TrendPart<Read extends object = object> {
  /** The shape of `Read`. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: PagesParts, of: TrendScope, since: Millis) => Promise<Read>
  readonly card: (read: Read, of: TrendScope, context: RequestContext) => Content
  /** Only used on the page of one project, because other pages would have too many. */
  readonly marks: (read: Read, chart: 'durations' | 'failures') => readonly ChartMark[]
}

/** What features add. Their cards are shown above the table of jobs. */
export const trendParts = new Slot<TrendPart>()

/** Gives the card the type of what `read` returns. */
export function onTrends<Read extends object>(part: TrendPart<Read>) {
  return trendParts.with(part as unknown as TrendPart)
}
