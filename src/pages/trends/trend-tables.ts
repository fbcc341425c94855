// The tables of trends: jobs and projects, sortable by their columns.
import { candidates, type LineSort, type TrendLine } from './trend-lines.ts'
import { delta } from '../layout/delta.ts'
import { duration, number, percent } from '../layout/format.ts'
import { empty, table, type SortHead } from '../layout/frame.ts'
import { html, pathText, type Content } from '../layout/html.ts'
import { trendsLink } from './trend-filters.ts'
import type { Trends } from './trend-figures.ts'

const orders: readonly (readonly [LineSort, string])[] = [
  ['slowest', 'Slowest'],
  ['total', 'Most time in total'],
  ['failing', 'Most failing'],
  ['flakiest', 'Flakiest'],
]

/** Links to the most useful orders. The heads of the columns have all of them. */
export function orderChoice(trends: Trends, base: string): Content {
  return html`<nav class="choice" aria-label="Which jobs first">
    ${orders.map(([sort, text]) => html`<a href="${trendsLink(base, trends, { jobs: sort })}" ${trends.sorted.jobs === sort && html` aria-current="true"`}>${text}</a>`)}
  </nav>`
}

const whenEmpty: Readonly<Partial<Record<LineSort, string>>> = {
  slowest: 'No job ran more than once.',
  failing: 'No job failed.',
  flakiest: 'No job failed and then passed for the same commit.',
}

export function jobsTable(trends: Trends, base: string): Content {
  const { jobs, sorted } = trends
  if (jobs.length === 0) return empty(whenEmpty[sorted.jobs] ?? 'No jobs yet.')
  const head = (text: string, sort: LineSort): SortHead => ({
    text,
    href: trendsLink(base, trends, { jobs: sort }),
    sorted: sorted.jobs === sort ? 'descending' : undefined,
  })
  const rows = jobs.map(line => [
    html`<span class="name"
      ><a href="${trendsLink(base, trends, { projectId: line.projectId, job: line.job })}">${line.job}</a><br /><span
        class="dim"
        >${pathText(line.project)}</span
      ></span
    >`,
    figure(html`${duration(line.p50)} ${delta(line.p50, line.before?.p50, 'less')}`),
    figure(duration(line.p95)),
    figure(duration(line.meanMs)),
    figure(duration(line.totalMs)),
    figure(duration(line.queueP50)),
    figure(number(line.failed)),
    figure(
      html`${percent(line.failed / line.runs)}
      ${delta(rateOf(line), line.before && rateOf(line.before), 'less', 'points')}`,
    ),
    figure(number(line.flaky)),
    figure(number(line.runs)),
  ])
  const heads = [
    'Job',
    head('Median', 'p50'),
    head('p95', 'p95'),
    head('Mean', 'slowest'),
    head('Total', 'total'),
    head('Queue', 'queue'),
    head('Failed', 'failing'),
    head('Rate', 'rate'),
    head('Flaky', 'flakiest'),
    head('Runs', 'runs'),
  ]
  return html`${table('Jobs', heads, rows)}
  ${isOfCandidates(sorted.jobs) && html`<p class="dim">Sorted among the ${candidates} slowest by mean.</p>`}`
}

export function projectsTable(trends: Trends, base: string): Content {
  const { projects, sorted } = trends
  if (projects.length === 0) return empty('No projects yet.')
  const head = (text: string, sort: LineSort): SortHead => ({
    text,
    href: trendsLink(base, trends, { projects: sort }),
    sorted: sorted.projects === sort ? 'descending' : undefined,
  })
  const rows = projects.map(line => [
    html`<span class="name"
      ><a href="${trendsLink(base, trends, { projectId: line.projectId })}">${pathText(line.project)}</a></span
    >`,
    figure(number(line.runs)),
    figure(number(line.failed)),
    figure(percent(rateOf(line))),
    figure(duration(line.p50)),
    figure(duration(line.p95)),
    figure(duration(line.totalMs)),
    figure(duration(line.queueP50)),
    figure(duration(line.queueP95)),
  ])
  const heads = [
    'Project',
    head('Pipelines', 'runs'),
    head('Failed', 'failing'),
    head('Rate', 'rate'),
    head('Median', 'p50'),
    head('p95', 'p95'),
    head('Total', 'total'),
    head('Queue, median', 'queue'),
    'Queue, p95',
  ]
  return html`${table('Projects', heads, rows)}
  ${isOfCandidates(sorted.projects) && html`<p class="dim">Sorted among the ${candidates} with the most pipelines.</p>`}`
}

function isOfCandidates(sort: LineSort): boolean {
  return sort === 'p50' || sort === 'p95' || sort === 'queue' || sort === 'rate'
}

function rateOf({ runs, failed }: Pick<TrendLine, 'runs' | 'failed'>): number {
  return runs === 0 ? 0 : failed / runs
}

function figure(content: Content): Content {
  return html`<span class="figure">${content}</span>`
}
