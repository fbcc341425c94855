// The parts that features add to the trends page: a card, highlighted periods in its charts, and fields in the JSON API's response.
import type { BranchClass } from '../../../model/pipeline.ts'
import type { ChartMark } from '../../../console/charts/plot.ts'
import type { Content } from '../../../console/layout/html.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts } from '../../../console/ports.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'
import { Slot } from '../../../lib/slot.ts'
import type { z } from 'zod'

export interface TrendScope {
  readonly instance?: string | undefined
  readonly projectId?: number | undefined
  /** The group's path, with a trailing slash. */
  readonly group?: string | undefined
  readonly own?: string | undefined
  readonly job?: string | undefined
  readonly branch?: BranchClass | undefined
}

export interface TrendPart<Read extends object = object> {
  /** The shapes of the fields that `read` returns. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: PagesParts, of: TrendScope, since: Millis) => Promise<Read>
  readonly card: (read: Read, of: TrendScope, context: RequestContext) => Content
  /** The marks in the charts. They are shown only on a single project's page, because other pages would have too many of them. */
  readonly marks: (read: Read, chart: 'durations' | 'failures') => readonly ChartMark[]
}

/** The parts that features add to the trends page. Their cards are shown above the jobs table. */
export const trendParts = new Slot<TrendPart>()

/** Adds a feature's part to the trends page. Its `card` receives the type that its `read` returns. */
export function onTrends<Read extends object>(part: TrendPart<Read>) {
  return trendParts.with(part as unknown as TrendPart)
}
