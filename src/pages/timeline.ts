// The page of the timeline: what changed and when, next to the pipelines, as a drawing and as a list.
import { card, empty, table, type Page, type Reader } from './frame.ts'
import { counted, since, utc } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import { jobAddress, pipelineAddress } from './run-rows.ts'
import {
  offered,
  type Timeline,
  type TimelineItem,
  type TimelineKind,
  type TimelineSettings,
} from './timeline-figures.ts'
import { spanNames, spans } from './trend-spans.ts'
import type { Millis } from '../model/instant.ts'

const words: Readonly<Record<TimelineKind, readonly [one: string, many: string]>> = {
  deployment: ['Deployment', 'Deployments'],
  merge: ['Merge', 'Merges'],
  release: ['Release', 'Releases'],
  flag: ['Flag', 'Flags'],
  incident: ['Incident', 'Incidents'],
  audit: ['Audit event', 'Audit events'],
}

/** `projects`: suggestions for the form. */
export function timelinePage(
  timeline: Timeline,
  settings: TimelineSettings,
  projects: readonly string[],
  reader: Reader,
): Page {
  const { items, span, project } = timeline
  return {
    title: 'Timeline',
    content: html`<div class="page-head">
        <h1>Timeline</h1>
        <nav class="choice" aria-label="How long back">
          ${spanNames.map(
            one =>
              html`<a
                href="${timelineAddress(reader.base, timeline, { span: one })}"
                ${one === span && html` aria-current="true"`}
                >${spans[one].name}</a
              >`,
          )}
        </nav>
      </div>
      ${filters(timeline, offered(settings), projects, reader)}
      ${card(project ?? 'All projects', html`${drawing(timeline)} ${aboutPipelines(timeline)}`)}
      ${card(
        'What happened',
        items.length === 0
          ? empty(`Nothing of this kind in the last ${spans[span].name}.`)
          : itemsTable(timeline, reader),
        {
          aside: `${timeline.isCut ? 'the newest ' : ''}${counted(items.length, 'event')}`,
        },
      )}
      ${whatIsKept}`,
  }
}

/** The drawing and the newest items, for other pages. */
export function timelineCard(timeline: Timeline, reader: Reader): Html {
  const { items, span } = timeline
  const shown = { ...timeline, items: items.slice(0, 6) }
  return card(
    'What changed',
    items.length === 0
      ? empty(`No deployment, merge, release, flag or incident in the last ${spans[span].name}.`)
      : html`${drawing(timeline)} ${itemsTable(shown, reader)}`,
    { aside: html`<a href="${timelineAddress(reader.base, timeline, {})}">Timeline</a>` },
  )
}

const whatIsKept = html`<p class="dim">
  Deployments are known from events and from jobs, and are kept as long as figures over time
  (<code>PIPESPAN_TRENDS_KEEP</code>). Everything else is an event that <code>PIPESPAN_EVENTS</code> or
  <code>PIPESPAN_AUDIT</code> selects and that a destination takes as a log record: it is kept as long as what was
  exported of it (<code>PIPESPAN_RETENTION</code>), and erased sooner where the store is full. Of incidents that they
  were opened, closed and reopened is shown, of merge requests that they were merged.
</p>`

function filters(
  { span, project, kinds }: Timeline,
  may: readonly TimelineKind[],
  projects: readonly string[],
  { base }: Reader,
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
    <label class="wide">Project<input name="project" value="${project}" list="projects" autocomplete="off" /></label>
    <datalist id="projects">${projects.map(path => html`<option value="${path}"></option>`)}</datalist>
    <fieldset>
      <legend>Kinds</legend>
      ${may.map(
        kind =>
          html`<label class="tick"
            ><input type="checkbox" name="kind" value="${kind}" ${!isAll && kinds.includes(kind) && html` checked`} />
            ${words[kind][1]}</label
          >`,
      )}
    </fieldset>
    <span class="buttons"
      ><button>Show</button><a class="button plain" href="${base}/timeline?span=${span}">Everything</a></span
    >
  </form>`
}

/** The address of the same timeline with changes. */
export function timelineAddress(
  base: string,
  { span, project }: Pick<Timeline, 'span' | 'project'>,
  changes: { readonly span?: string },
): string {
  const query = new URLSearchParams({ span: changes.span ?? span })
  if (project !== undefined) query.set('project', project)
  return `${base}/timeline?${query.toString()}`
}

/** The drawing's own units. It is stretched to the width of the page. */
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
      : [
          { name: 'Pipelines', marks: pipelines.map(({ status, ...one }) => ({ ...one, isBad: status === 'failed' })) },
        ]),
    ...kinds.map(kind => ({ name: words[kind][1], marks: items.filter(item => item.kind === kind) })),
  ]
  const said = lanes.map(({ name, marks }) => `${name}: ${marks.length}`).join(', ')
  return html`<div
    class="timeline"
    role="img"
    aria-label="The last ${spans[span].name}. ${said}. The list below has each."
  >
    ${lanes.map(
      ({ name, marks }) =>
        html`<span class="lane-name">${name}</span
          ><svg viewBox="0 0 ${wide} ${high}" preserveAspectRatio="none">
            ${marks.toSorted((a, b) => Number(a.isBad) - Number(b.isBad)).map(one => stroke(one, from, until))}
          </svg>`,
    )}
    <span class="lane-name"></span
    ><span class="lane-axis"
      >${[0, 1, 2].map(third => html`<span>${utc(from + (third / 2) * (until - from)).slice(5, 16)}</span>`)}</span
    >
  </div>`
}

/** Failures are as high as their lane, because not everybody can see their colour. */
function stroke({ at, title, isBad }: Lane['marks'][number], from: Millis, until: Millis): Html {
  const x = ((Math.min(until, Math.max(from, at)) - from) / (until - from)) * wide
  const top = isBad ? 0 : high * 0.35
  return html`<line
    class="${isBad ? 'bad' : 'usual'}"
    x1="${x.toFixed(1)}"
    x2="${x.toFixed(1)}"
    y1="${top}"
    y2="${high}"
    ><title>${utc(at)}: ${title}</title></line
  >`
}

function aboutPipelines({ pipelines, since: from }: Timeline): Content {
  const oldest = pipelines.at(-1)?.at
  if (oldest === undefined) return ''
  const back = oldest > from && pipelines.length >= 100 ? `, back to ${utc(oldest).slice(0, 16)}` : ''
  return html`<p class="dim">
    A high stroke is something that failed, or an incident that began. Of pipelines the newest ${pipelines.length} are
    drawn, where they were created${back}.
  </p>`
}

function itemsTable({ items }: Pick<Timeline, 'items'>, reader: Reader): Html {
  const rows = items.map(item => [
    since(item.at, reader.now),
    words[item.kind][0],
    html`<span class="break ${item.isBad && 'bad-text'}">${item.title}</span>`,
    item.project === undefined ? '–' : html`<span class="break">${item.project}</span>`,
    item.user ?? '–',
    jobOf(item, reader),
  ])
  return table('What happened', ['When', 'Kind', 'What', 'Project', 'By', 'Job'], rows, 'of-timeline')
}

/** Links to the pages of its job and pipeline. */
function jobOf({ projectId, pipelineId, jobId }: TimelineItem, { base }: Reader): Content {
  if (projectId === undefined || pipelineId === undefined || jobId === undefined) return '–'
  const card = { projectId, pipelineId }
  return html`<a href="${jobAddress(base, card, jobId)}">#${jobId}</a> of
    <a href="${pipelineAddress(base, card)}">pipeline ${pipelineId}</a>`
}
