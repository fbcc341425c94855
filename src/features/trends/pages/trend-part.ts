// The parts that features add to the page of trends: a card, periods in its charts, and fields of the JSON API's answer.
import type { BranchClass } from '../../../model/pipeline.ts'
import type { ChartMark } from '../../../console/charts/plot.ts'
import type { Content } from '../../../console/layout/html.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts } from '../../../console/ports.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'
import { Slot } from '../../../lib/slot.ts'
import type { z } from 'zod'

/** The scope of the trends: the project, group, job and branch class that they cover. */
export interface TrendScope {
  readonly projectId?: number | undefined
  /** The path of a group, with a slash at its end. */
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
  /** The marks in the charts. They are shown only on the page of one project, because other pages would have too many marks. */
  readonly marks: (read: Read, chart: 'durations' | 'failures') => readonly ChartMark[]
}

/** The parts that features add to the page of trends. Their cards are shown above the table of jobs. */
export const trendParts = new Slot<TrendPart>()

/** Adds a feature's part to the page of trends. Its `card` gets the type that its `read` returns. */
export function onTrends<Read extends object>(part: TrendPart<Read>) {
  return trendParts.with(part as unknown as TrendPart)
}
