// The shape of the overview, including the parts that features add. The overview page shows it, the JSON API returns it, and `pipespan top` reads it.
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
  quarantined: z.number().describe('Number of deliveries that could not be decoded.'),
  queues: z.array(queueList.shape),
  setup: setupShape,
  hasRuns: z.boolean(),
  hooksOff: z.array(z.string()),
  running: z.array(runList.shape),
  active: z.number(),
  silent: z.array(runList.shape).describe('Running pipelines that have had no event for an hour.'),
  silentCount: z.number(),
  lastHour: lastHourShape,
  finished: z.array(runList.shape),
  finishedCount: z.number().describe('Number of pipelines that finished in the last hour.'),
})

/** Returns the shape of the overview, including the fields that features add. */
export function overviewShapeOf(parts: Pick<PagesParts, 'fillings'>) {
  return overviewShape.extend(
    Object.assign({}, ...overviewParts.of(parts).map(({ fields }) => fields)) as z.ZodRawShape,
  )
}

export interface Overview extends Health, Shown {}
type Shown = Omit<Shaped<typeof overviewShape>, keyof Health>

/** A feature's card on the overview. The JSON API returns the card's content as fields. */
export interface OverviewPart<Read extends object = object> {
  /** The ID of the card's region, which is updated independently. */
  readonly region: string
  /** The shapes of the fields that `read` returns. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: PagesParts, now: Millis) => Promise<Read>
  /** Renders the card; empty if there is nothing to show. */
  readonly card: (read: Read, context: RequestContext) => Content
}

/** The cards that features add to the overview, between the running and the finished pipelines. */
export const overviewParts = new Slot<OverviewPart>()

/** Adds a part to the overview. The type parameter checks that `card` accepts the result of `read`. */
export function onOverview<Read extends object>(part: OverviewPart<Read>) {
  return overviewParts.with(part as unknown as OverviewPart)
}

/**
 * A source of entries for the list of what to fix first. Features find the entries, and the trends feature ranks the entries of all sources by cost.
 */
export interface FixSource {
  /** The kind of entries. `flaky_test` is shown as “flaky test”. */
  readonly kind: string
  /** Finds the entries. Each entry has its cost in the given period, which is one week. */
  readonly read: (parts: PagesParts, since: Millis, until: Millis) => Promise<readonly FoundFix[]>
}

export interface FoundFix {
  readonly subject: string
  /** The project's full path; undefined if the entry concerns several projects. */
  readonly project?: string | undefined
  /** The time that the problem costs per week, ms. */
  readonly weekMs: number
  /** The money that the problem costs, in the price table's currency. */
  readonly cost?: number | undefined
  /**
   * The job whose time is lost. Its price determines the cost of the entry. If the job name is empty, the time of the project's pipelines is lost.
   */
  readonly of?: { readonly instance: string; readonly projectId: number; readonly job: string } | undefined
  readonly why: string
  /** The path of the page that shows details about this entry. */
  readonly path: string
}

export const fixSources = new Slot<FixSource>()
