// The timeline, for the pages and the JSON API: deployments and events around pipelines, in chronological order.
import { given } from '../layout/address.ts'
import { z } from 'zod'
import { runCard } from '../pipelines/run-card.ts'
import { pipelineTitle } from '../pipelines/run-rows.ts'
import { shownKinds, type ShownKind } from '../../model/shown-event.ts'
import { ordered, type Keys } from '../layout/sorting.ts'
import { millis, own as ownShape, span as spanShape, type Shaped } from '../layout/shape.ts'
import { spanOf, spans, type Span } from '../layout/trend-spans.ts'
import type { EventChunk, EventValue } from '../../model/event.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSettings, PagesSources } from '../ports.ts'
import type { Scope } from '../layout/scope-heading.ts'
import type { ShownDeployment } from '../../core/store/ports/deployments.ts'

export const timelineKinds = ['deployment', ...shownKinds] as const
export type TimelineKind = (typeof timelineKinds)[number]
const kindShape = z.enum(timelineKinds)

interface AskedTimeline extends Scope {
  /** Empty: all. */
  readonly kinds: readonly TimelineKind[]
  readonly limit: number
  /** How many pipelines to add; 0: none. */
  readonly pipelines: number
  /** A key of the items. Does not change which items are listed: the newest. */
  readonly sort?: string | null | undefined
}

const itemShape = z.object({
  kind: kindShape,
  at: millis,
  title: z.string(),
  instance: z.string(),
  project: z.string().optional().describe('Full path of the project, or of the group.'),
  user: z.string().optional(),
  isBad: z.boolean().describe('Something failed, or an incident began.'),
  isProduction: z.boolean().optional().describe('For deployments: as PIPESPAN_PRODUCTION says.'),
  projectId: z.number().optional().describe('For deployments; also `pipelineId` and `jobId`.'),
  pipelineId: z.number().optional(),
  jobId: z.number().optional(),
})
export type TimelineItem = Shaped<typeof itemShape>

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
  until: millis.describe('A little later than now, because it is rounded up.'),
  project: z.string().optional(),
  own: ownShape,
  kinds: z.array(kindShape).describe('The requested kinds that may be shown.'),
  items: z.array(itemShape).describe('Newest first.'),
  isCut: z.boolean().describe('True if older ones of the period are left out.'),
  pipelines: z.array(pipelineShape).describe('The newest that were created in this period.'),
})
export type Timeline = Shaped<typeof timelineShape>

export const timelineKeys = {
  when: ({ at }) => at,
  kind: ({ kind }) => kind,
  what: ({ title }) => title,
  project: ({ project }) => project,
  by: ({ user }) => user,
  job: ({ jobId }) => jobId,
  pipeline: ({ pipelineId }) => pipelineId,
} satisfies Keys<TimelineItem>

type Sources = Pick<PagesSources, 'deployments' | 'isProduction' | 'views'>
export type TimelineSettings = Pick<PagesSettings, 'adminToken' | 'secretKinds'>

export async function timelineOf(
  { deployments, isProduction, views }: Sources,
  settings: TimelineSettings,
  asked: AskedTimeline,
  now: Millis,
): Promise<Timeline> {
  const { span, project, own, limit } = asked
  const { since, until } = frameOf(span, now)
  const kinds = offered(settings).filter(kind => asked.kinds.length === 0 || asked.kinds.includes(kind))
  // One more than shown, to know whether there are more.
  const within = { project, since, until, limit: limit + 1 }
  const [runs, ...found] = await Promise.all([
    asked.pipelines === 0 ? undefined : views.search({ project, since, limit: asked.pipelines }),
    ...kinds.map(async kind =>
      kind === 'deployment'
        ? (await deployments.list(within)).map(one => deploymentItem(one, isProduction(one.view)))
        : (await views.shownEvents({ ...within, as: kind })).map(chunk => eventItem(kind, chunk)),
    ),
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
    items: ordered(timelineKeys, items.slice(0, limit), asked.sort),
    isCut: items.length > limit,
  }
}

/** The kinds that may be shown: some only where an admin token is set. */
export function offered({ adminToken, secretKinds }: TimelineSettings): readonly TimelineKind[] {
  const secret: readonly TimelineKind[] = adminToken() === undefined ? [] : (secretKinds?.() ?? [])
  return timelineKinds.filter(kind => kind !== 'audit' || secret.includes(kind))
}

/** The period, with its end rounded up to 1/288 of its length, so that live pages do not change every second. */
function frameOf(span: Span, now: Millis): { readonly since: Millis; readonly until: Millis } {
  const { length } = spans[span]
  const step = length / 288
  const until = (Math.floor(now / step) + 1) * step
  return { since: until - length, until }
}

/** The question in a query. Default: all kinds of the last 7 days. */
export function askedTimeline(query: URLSearchParams): AskedTimeline {
  return {
    span: spanOf(query.get('span')) ?? '7d',
    project: given(query, 'project'),
    own: given(query, 'own'),
    kinds: timelineKinds.filter(kind => query.getAll('kind').includes(kind)),
    ...{ limit: 100, pipelines: 100, sort: query.get('sort') },
  }
}

function deploymentItem({ deployment, view, at, figures }: ShownDeployment, isProduction: boolean): TimelineItem {
  const { instance, project, jobId, job } = deployment
  // An environment of that name needs no mark.
  const mark = isProduction && view.environment !== 'production' ? ' (production)' : ''
  const to = view.environment === undefined ? '' : ` to ${view.environment}${mark}`
  return {
    ...{ kind: 'deployment', at, instance, project: project.path, user: view.user },
    title: `Deployment${to}: ${view.status}${figures?.isRollback === true ? ', a rollback' : ''}`,
    isBad: view.outcome === 'failed',
    isProduction,
    ...{ projectId: project.id, pipelineId: job?.span.pipelineId, jobId },
  }
}

/** The past tense of the platform’s actions. */
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
