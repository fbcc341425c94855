// What features add to the overview: a card, and what it shows as fields of the answer of the JSON API.
import type { z } from 'zod'
import { Slot } from '../../lib/slot.ts'
import type { Content } from '../layout/html.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesParts } from '../ports.ts'
import type { RequestContext } from '../layout/frame.ts'

export interface OverviewPart<Read extends object = object> {
  /** The id of its card, which is updated by itself. */
  readonly region: string
  /** The shape of `Read`. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: PagesParts, now: Millis) => Promise<Read>
  /** Empty: there is nothing to show. */
  readonly card: (read: Read, context: RequestContext) => Content
}

/** Their cards are between the running pipelines and those that finished. */
export const overviewParts = new Slot<OverviewPart>()

/** Types the card by what is read. */
export function onOverview<Read extends object>(part: OverviewPart<Read>) {
  return overviewParts.with(part as unknown as OverviewPart)
}
