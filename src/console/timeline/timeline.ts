// The timeline page: what changed and when, next to the pipelines, as a chart and as a list.
import { hasFailed } from '../../model/status.ts'
import { ofOwn, ownField, periodChoice, projectField, unknownOwn, unknownScope } from '../layout/scope-heading.ts'
import { card, empty, howCounted, type Page, type RequestContext } from '../layout/frame.ts'
import { counted, since, utc, minute } from '../layout/format.ts'
import { html, pathText, type Content, type Html } from '../layout/html.ts'
import { jobLink } from '../pipelines/run-rows.ts'
import type { Timeline } from './timeline-figures.ts'
import { nameOf, timelineItems, type TimelineItem } from './timeline-part.ts'
import { spanNames, spans } from '../layout/trend-spans.ts'
import type { Millis } from '../../model/instant.ts'

/** Renders the timeline page. `may` contains the kinds of items to choose from; `projects` are suggestions for the form. */
export function timelinePage(
  timeline: Timeline,
  may: readonly string[],
  projects: readonly string[],
  context: RequestContext,
): Page {
  const { items, span, project, own } = timeline
  const of = [project, ofOwn(own, context)].filter(Boolean).join(', ')
  return {
    title: 'Timeline',
    content: html`<div class="page-head">
        <h1>Timeline</h1>
        ${periodChoice(spanNames, span, one => timelineAddress(context.base, timeline, { span: one, kinds: context.query.getAll('kind') }))}
      </div>
      ${filters(timeline, may, projects, context)} ${unknownScope(project, projects)} ${unknownOwn(context.own)}
      ${card(of || 'All projects', html`${drawing(timeline)} ${aboutPipelines(timeline)}`)}
      ${card(
        'What happened',
        items.length === 0
          ? empty(`Nothing of this kind happened in the last ${spans[span].name}.`)
          : timelineItems.draw('What happened', items, context, 'of-timeline'),
        {
          aside: `${timeline.isCut ? 'the newest ' : ''}${counted(items.length, 'event')}`,
        },
      )}
      ${whatIsKept}`,
  }
}

const shownElsewhere = 8

/** Renders a card with the timeline's chart and its newest items, for other pages. */
export function timelineCard(timeline: Timeline, context: RequestContext): Html {
  const { items, span } = timeline
  return card(
    'What changed',
    items.length === 0
      ? empty(`No deployment, merge, release, flag or incident in the last ${spans[span].name}.`)
      : html`${drawing(timeline)} ${itemsList(items.slice(0, shownElsewhere), context)}`,
    { aside: html`<a href="${timelineAddress(context.base, timeline, {})}">Timeline</a>` },
  )
}

const whatIsKept = howCounted(
  html`Deployments are known from events and from jobs, and are stored as long as trends
    (<code>PIPESPAN_TRENDS_KEEP</code>). All other items are events that <code>PIPESPAN_EVENTS</code> or
    <code>PIPESPAN_AUDIT</code> selects and that a destination receives as log records. They are stored as long as their
    exports (<code>PIPESPAN_RETENTION</code>), or shorter if the store is full. Incidents are shown when they are
    opened, closed or reopened, and merge requests when they are merged.`,
)

function filters(
  { span, project, kinds }: Timeline,
  may: readonly string[],
  projects: readonly string[],
  { base, own }: RequestContext,
): Html {
  const isAll = kinds.length === may.length
  return html`<form
    class="filters of-timeline card"
    method="get"
    action="${base}/timeline"
    role="search"
    aria-label="Filter the timeline"
  >
    <input type="hidden" name="span" value="${span}" />
    ${projectField(project, projects, 'wide')} ${ownField(own)}
    <fieldset>
      <legend>Kinds</legend>
      ${may.map(
        kind =>
          html`<label class="tick"
            ><input type="checkbox" name="kind" value="${kind}" ${!isAll && kinds.includes(kind) && html` checked`} />
            ${nameOf(kind, 's')}</label
          >`,
      )}
    </fieldset>
    <span class="buttons"
      ><button>Show</button><a class="button plain" href="${base}/timeline?span=${span}">Everything</a></span
    >
  </form>`
}

/** Returns the address of the same timeline with some parameters changed. */
function timelineAddress(
  base: string,
  { span, project, own }: Pick<Timeline, 'span' | 'project' | 'own'>,
  changes: { readonly span?: string; readonly kinds?: readonly string[] },
): string {
  const query = new URLSearchParams({ span: changes.span ?? span })
  if (project !== undefined) query.set('project', project)
  if (own !== undefined) query.set('own', own)
  for (const kind of changes.kinds ?? []) query.append('kind', kind)
  return `${base}/timeline?${query.toString()}`
}

/** The width of the chart in SVG units. The chart is stretched to the width of the page. */
const wide = 1_000
const high = 16

interface Lane {
  readonly name: string
  readonly marks: readonly { readonly at: Millis; readonly title: string; readonly isBad: boolean }[]
}

function drawing({ since: from, until, kinds, items, pipelines, span }: Timeline): Html {
  const lanes: readonly Lane[] = [
    ...(pipelines.length === 0
      ? []
      : [{ name: 'Pipelines', marks: pipelines.map(({ status, ...one }) => ({ ...one, isBad: hasFailed(status) })) }]),
    ...kinds.map(kind => ({ name: nameOf(kind, 's'), marks: items.filter(item => item.kind === kind) })),
  ]
  const summary = lanes.map(({ name, marks }) => `${name}: ${marks.length}`).join(', ')
  return html`<div
    class="timeline"
    role="img"
    aria-label="The last ${spans[span].name}. ${summary}. The list below contains all of them."
  >
    ${lanes.map(
      ({ name, marks }) =>
        html`<span class="lane-name">${name}</span
          ><svg viewBox="0 0 ${wide} ${high}" preserveAspectRatio="none">
            ${marks.toSorted((a, b) => Number(a.isBad) - Number(b.isBad)).map(one => stroke(one, from, until))}
          </svg>`,
    )}
    <span class="lane-name"></span
    ><span class="lane-axis">${[0, 1, 2].map(third => html`${minute(from + (third / 2) * (until - from))}`)}</span>
  </div>`
}

/** Draws a mark on the timeline. Failure marks are as tall as their row, because not everyone can see their colour. */
function stroke({ at, title, isBad }: Lane['marks'][number], from: Millis, until: Millis): Html {
  const x = ((Math.min(until, Math.max(from, at)) - from) / (until - from)) * wide
  const top = isBad ? 0 : high * 0.35
  return html`<line
    class="${isBad ? 'bad' : 'usual'}"
    x1="${x.toFixed(1)}"
    x2="${x.toFixed(1)}"
    y1="${top}"
    y2="${high}"
    ><title>${utc(at)} UTC: ${title}</title></line
  >`
}

function aboutPipelines({ pipelines, since: from }: Timeline): Content {
  const oldest = pipelines.at(-1)?.at
  if (oldest === undefined) return ''
  const back = oldest > from && pipelines.length >= 100 && html`, back to ${minute(oldest)}`
  return html`<p class="dim">
    Tall marks: failures and new incidents. Only the newest ${pipelines.length} pipelines are drawn, at their creation
    time${back}.
  </p>`
}

/** Renders the timeline items as a list, for narrow columns. */
function itemsList(items: readonly TimelineItem[], context: RequestContext): Html {
  return html`<ul class="plain-list">
    ${items.map(item => {
      const job = jobLink(item, context)
      return html`<li class="pair">
        <span
          ><span class="${item.isBad && 'bad-text'}">${item.title}</span><br /><span class="dim"
            >${item.project !== undefined && pathText(item.project)}${item.user !== undefined && ` by ${item.user}`}${job !== undefined && html`, job ${job}`}</span
          ></span
        >
        <span class="right dim">${since(item.at, context.now)}</span>
      </li>`
    })}
  </ul>`
}
