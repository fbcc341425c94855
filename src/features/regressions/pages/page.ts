// The regressions page: the flagged regressions, and those that a rule would have flagged in a project's stored runs.
import { card, crumbs, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import { day } from '../series.ts'
import { counted, minute } from '../../../console/layout/format.ts'
import { html, type Content, type Html } from '../../../console/layout/html.ts'
import { askedRule, previewOf, shownRule, type ShownPreview, type ShownRule } from '../preview.ts'
import { regressionsOf } from '../documents.ts'
import { trendsIn } from '../../trends/port.ts'
import { regressionTable } from './list.ts'
import { ofOwn, unknownOwn } from '../../../console/layout/scope-heading.ts'
import { addressWith, given, groupIn, linkedInstance, wholeNumber } from '../../../console/layout/address.ts'
import type { PagesParts, PagesSettings } from '../../../console/ports.ts'
import type { RegressionOptions } from '../options.ts'

const shownFor = 30 * day

export async function regressionsPage(
  parts: PagesParts,
  options: RegressionOptions,
  groupBy: PagesSettings['groupBy'],
  context: RequestContext,
): Promise<Page> {
  const { query, now, base } = context
  const { projectId, instance } = projectIn(query)
  const group = groupIn(query)
  const own = given(query, 'own')
  const rule = shownRule(askedRule(query), options.regressions)
  const [flagged, preview, projects] = await Promise.all([
    regressionsOf(parts, { instance, projectId, group, since: now - shownFor }),
    projectId === undefined ? undefined : previewOf(parts, { projectId, instance }, rule, options),
    trendsIn(parts).projects('runs', { step: day, since: now - shownFor, until: now + day }, 200),
  ])
  const isAsked = (one: Pick<Choice, 'projectId' | 'instance'>): boolean =>
    one.projectId === projectId && (instance === undefined || one.instance === instance)
  const project = preview?.project ?? projects.find(isAsked)?.project
  // The list has only the projects with the most pipelines, but the form must try the rule on the project in the address.
  const choices =
    projectId === undefined || projects.some(isAsked)
      ? projects
      : [{ projectId, instance, project: project ?? `${projectId}` }, ...projects]
  const of = [project ?? group, ofOwn(own, context)].filter(Boolean).join(', ')
  return {
    title: 'Regressions',
    content: html`
      ${crumbs(html`<a href="${base}/trends">Trends</a>`, ...(project === undefined ? [] : [html`<a href="${addressWith(`${base}/trends`, { instance, project: projectId })}">${project}</a>`]))}
      <div class="page-head">
        <h1>Regressions${of !== '' && html` of ${of}`}</h1>
      </div>
      ${unknownOwn(context.own)}
      <p class="dim">
        Pipelines and jobs that became slower or less reliable in the last 30 days, or still are. Each is listed once,
        with its first bad run.
        ${!options.regressions.enabled && 'No new runs are judged, because PIPESPAN_REGRESSIONS_ENABLED is false.'}
      </p>
      ${card('Flagged', regressionTable(flagged, context, 'Nothing was flagged.', { groupBy }))}
      ${card('What a rule would have flagged', html`${previewForm({ base, rule, choices, isAsked })} ${previewed(preview, projectId, context)}`)}
    `,
  }
}

/** Returns the project in the query: `project` is its ID, for a project chosen in the form with the instance after a space. */
function projectIn(query: URLSearchParams) {
  const [, id = '', chosen] = /^(\d+)(?: (.+))?$/.exec(query.get('project') ?? '') ?? []
  return { projectId: wholeNumber(id), instance: chosen ?? given(query, 'instance') }
}

interface Choice {
  readonly projectId: number
  readonly instance: string | undefined
  readonly project: string
}

interface Form {
  readonly base: string
  readonly rule: ShownRule
  readonly choices: readonly Choice[]
  readonly isAsked: (one: Choice) => boolean
}

function previewForm({ base, rule, choices, isAsked }: Form): Html {
  const instanceOf = linkedInstance(choices.filter(({ instance }) => instance !== undefined))
  const field = (name: string, label: string, value: number): Html =>
    html`<label>${label}<input name="${name}" value="${value}" inputmode="numeric" autocomplete="off" /></label>`
  return html`<form class="filters" method="get" action="${base}/trends/regressions" aria-label="Try a rule">
    <label class="wide"
      >Project<select name="project">
        ${choices.map(one => html`<option value="${[one.projectId, instanceOf(one)].join(' ').trim()}" ${isAsked(one) && html` selected`}>${one.project}</option>`)}
      </select></label
    >
    ${field('slower', 'Slower by, %', rule.slower)} ${field('slower_by', 'and by, seconds', rule.slowerBy)}
    ${field('failing', 'More failures, percentage points', rule.failing)}
    <span class="buttons"><button>Try</button></span>
  </form>`
}

function previewed(preview: ShownPreview | undefined, projectId: number | undefined, context: RequestContext): Content {
  if (preview?.project === undefined) {
    const text = projectId === undefined ? 'Choose a project.' : 'This project has no figures from the last 30 days.'
    return html`<p class="dim">${text} Trying a rule changes nothing.</p>`
  }
  const { found, pipelines, backTo, rule } = preview
  return html`<p class="dim">
      Based on ${counted(pipelines, 'stored pipeline')}${backTo !== undefined && html`, back to ${minute(backTo)}`}. To
      use this rule, set <code>PIPESPAN_REGRESSIONS_SLOWER=${rule.slower}</code>
      <code>PIPESPAN_REGRESSIONS_SLOWER_BY=${rule.slowerBy}s</code>
      <code>PIPESPAN_REGRESSIONS_FAILING=${rule.failing}</code>.
    </p>
    ${regressionTable(found, context, 'Nothing would have been flagged.', { label: 'With this rule' })}`
}
