// The shape of the overview: what its page shows, the JSON API answers, and `pipespan top` reads; and what features add to it.
import { z } from 'zod'
import { flowShape } from './flow.ts'
import { lastHourShape } from './last-hour.ts'
import { runList } from '../pipelines/run-card.ts'
import { Slot } from '../../lib/slot.ts'
import type { Content } from '../layout/html.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesParts } from '../ports.ts'
import type { RequestContext } from '../layout/frame.ts'
import type { Shaped } from '../layout/shape.ts'
import { noticeShape, type Health } from './notices.ts'
import { queueList } from '../exports/columns.ts'
import { configStatusShape, setupShape } from '../sources/setup-shape.ts'

export const overviewShape = z.object({
  config: configStatusShape.optional(),
  notices: z.array(noticeShape),
  flow: flowShape,
  quarantined: z.number().describe('Deliveries that could not be decoded.'),
  queues: z.array(queueList.shape),
  setup: setupShape,
  hasRuns: z.boolean(),
  hooksOff: z.array(z.string()),
  running: z.array(runList.shape),
  active: z.number(),
  silent: z.array(runList.shape).describe('Running, but without an event for an hour.'),
  silentCount: z.number(),
  lastHour: lastHourShape,
  finished: z.array(runList.shape),
  finishedCount: z.number().describe('How many pipelines finished in the last hour.'),
})

/** The shape with the fields that features add. */
export function overviewShapeOf(parts: Pick<PagesParts, 'fillings'>) {
  return overviewShape.extend(
    Object.assign({}, ...overviewParts.of(parts).map(({ fields }) => fields)) as z.ZodRawShape,
  )
}

export interface Overview extends Health, Shown {}
type Shown = Omit<Shaped<typeof overviewShape>, keyof Health>

/** A card of a feature; the JSON API answers what the card shows as fields. */
export interface OverviewPart<Read extends object = object> {
  /** The id of its card, which is updated on its own. */
  readonly region: string
  /** The shape of `Read`. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: PagesParts, now: Millis) => Promise<Read>
  /** Draws the card; empty if there is nothing to show. */
  readonly card: (read: Read, context: RequestContext) => Content
}

/** The cards of features are placed between the running and the finished pipelines. */
export const overviewParts = new Slot<OverviewPart>()

/** Checks the types of a part: its card must draw what it reads. */
export function onOverview<Read extends object>(part: OverviewPart<Read>) {
  return overviewParts.with(part as unknown as OverviewPart)
}

/** A source of entries for the list of what to fix first. Features find them, and one feature ranks the entries of all sources by cost. */
export interface FixSource {
  /** `flaky_test`: shown as “flaky test”. */
  readonly kind: string
  /** Finds the entries, with what each of them cost in this period, which is a week. */
  readonly read: (parts: PagesParts, since: Millis, until: Millis) => Promise<readonly FoundFix[]>
}

export interface FoundFix {
  readonly subject: string
  /** Full path; undefined if several projects share it. */
  readonly project?: string | undefined
  /** The time that it costs per week, ms. */
  readonly weekMs: number
  /** The money that it costs, in the currency unit of the price table. */
  readonly cost?: number | undefined
  /** The job whose time is lost, to find its price. An empty name stands for the project's pipelines. */
  readonly of?: { readonly projectId: number; readonly job: string } | undefined
  readonly why: string
  /** The path of a page with details. */
  readonly path: string
}

export const fixSources = new Slot<FixSource>()
