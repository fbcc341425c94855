// The timeline for the pages and the JSON API: deployments and events around pipelines, in chronological order.
import { given } from '../layout/address.ts'
import { z } from 'zod'
import { runCard } from '../pipelines/run-card.ts'
import { pipelineTitle } from '../pipelines/run-rows.ts'
import { shownKinds, type EventChunk, type EventValue, type ShownKind } from '../../model/event.ts'
import { millis, own as ownShape, span as spanShape, type Shaped } from '../layout/shape.ts'
import { spanOf, spans, type Span } from '../layout/trend-spans.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesParts, PagesSettings } from '../ports.ts'
import { timelineItems, type TimelineItem, type TimelinePart } from './timeline-part.ts'
import type { Scope } from '../layout/scope-heading.ts'

/** Returns the kinds of timeline items: those that features add, and the kinds of events. */
export function timelineKinds(parts: readonly TimelinePart[]): readonly string[] {
  return [...parts.map(({ kind }) => kind), ...shownKinds]
}

interface AskedTimeline extends Scope {
  /** The kinds of items to show; empty means all kinds. */
  readonly kinds: readonly string[]
  readonly limit: number
  /** The number of pipelines to add to the timeline; 0 means none. */
  readonly pipelines: number
  /** The column to sort by. It does not affect which items are listed: the timeline always lists the newest. */
  readonly sort?: string | null | undefined
}

const pipelineShape = z.object({
  at: millis,
  projectId: z.number(),
  pipelineId: z.number(),
  project: z.string(),
  title: z.string(),
  status: z.string(),
})

export const timelineShape = z.object({
  span: spanShape,
  since: millis,
  until: millis.describe('End of the period. It is a little later than now, because it is rounded up.'),
  project: z.string().optional(),
  own: ownShape,
  kinds: z.array(z.string()).describe('The requested kinds that may be shown.'),
  items: z.array(timelineItems.shape).describe('Newest first.'),
  isCut: z.boolean().describe('True if older items of the period are left out.'),
  pipelines: z.array(pipelineShape).describe('The newest pipelines that were created in this period.'),
})
export type Timeline = Shaped<typeof timelineShape>

type TimelineSettings = Pick<PagesSettings, 'adminToken' | 'secretKinds'>

export async function timelineOf(
  parts: PagesParts,
  settings: TimelineSettings,
  asked: AskedTimeline,
  now: Millis,
): Promise<Timeline> {
  const { span, project, own, limit } = asked
  const { timeline, views } = parts
  const { since, until } = frameOf(span, now)
  const known = timelineKinds(timeline).filter(kind => asked.kinds.includes(kind))
  const kinds = offered(timeline, settings).filter(kind => known.length === 0 || known.includes(kind))
  // One item more than the timeline shows is read. If that item exists, the list is incomplete.
  const within = { project, since, until, limit: limit + 1 }
  const [runs, ...found] = await Promise.all([
    asked.pipelines === 0 ? undefined : views.search({ project, since, limit: asked.pipelines }),
    ...timeline.filter(({ kind }) => kinds.includes(kind)).map(async one => one.items(parts, within)),
    ...shownKinds
      .filter(kind => kinds.includes(kind))
      .map(async kind => (await views.shownEvents({ ...within, as: kind })).map(chunk => eventItem(kind, chunk))),
  ])
  const items = found.flat().sort((a, b) => b.at - a.at)
  const pipelines = (runs?.runs ?? [])
    .map(run => runCard(run, () => now))
    .map(card => ({
      at: card.createdAt ?? card.changedAt,
      ...{ projectId: card.projectId, pipelineId: card.pipelineId, project: card.project, status: card.status },
      title: pipelineTitle(card),
    }))
  return {
    ...{ span, since, until, project, own, kinds, pipelines },
    items: timelineItems.sorted(items.slice(0, limit), asked.sort),
    isCut: items.length > limit,
  }
}

/** Returns the kinds of timeline items that the user may see. Some kinds are shown only if an admin token is set. */
export function offered(
  parts: readonly TimelinePart[],
  { adminToken, secretKinds }: TimelineSettings,
): readonly string[] {
  const secret: readonly string[] = adminToken() === undefined ? [] : (secretKinds?.() ?? [])
  return timelineKinds(parts).filter(kind => kind !== 'audit' || secret.includes(kind))
}

/**
 * Returns the start and end of the period. The end is rounded up to a multiple of 1/288 of the period's length, so that live pages do not change
 * every second.
 */
function frameOf(span: Span, now: Millis): { readonly since: Millis; readonly until: Millis } {
  const { length } = spans[span]
  const step = length / 288
  const until = (Math.floor(now / step) + 1) * step
  return { since: until - length, until }
}

/** Parses the timeline parameters from a query string. The default is all kinds of items from the last 7 days. */
export function askedTimeline(query: URLSearchParams): AskedTimeline {
  return {
    span: spanOf(query.get('span')) ?? '7d',
    project: given(query, 'project'),
    own: given(query, 'own'),
    kinds: query.getAll('kind'),
    ...{ limit: 100, pipelines: 100, sort: query.get('sort') },
  }
}

/** The past tense of the verbs that the platform uses for actions. */
const done: Readonly<Record<string, string>> = {
  merge: 'merged',
  open: 'opened',
  close: 'closed',
  reopen: 'reopened',
}

function eventItem(kind: ShownKind, { at, key, project, group, event }: EventChunk): TimelineItem {
  const { body, attributes } = event
  const happened = body.replace(/: (merge|open|close|reopen)$/, (_, action: string) => ` ${done[action] ?? action}`)
  const title = kind === 'merge' ? `${happened}: ${text(attributes['vcs.change.title']) ?? ''}` : happened
  return {
    ...{ kind, at, title, instance: key.instance, project: project?.path ?? group },
    user: text(attributes['user.name']),
    isBad: kind === 'incident' && attributes['platform.issue.action'] !== 'close',
  }
}

function text(value: EventValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
