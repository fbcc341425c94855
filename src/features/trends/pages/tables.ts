// The tables of the trends page: jobs and projects, sortable by column.
import { linkedInstance } from '../../../console/layout/address.ts'
import { maxSorted, type GroupLine, type LineSort, type TrendLine } from './lines.ts'
import { delta } from '../../../console/layout/delta.ts'
import { duration, figure, number, percent } from '../../../console/layout/format.ts'
import { alternatives, empty, table, type SortHead } from '../../../console/layout/frame.ts'
import { figures, type ShownColumn } from '../../../console/layout/sorting.ts'
import { html, pathText, type Content } from '../../../console/layout/html.ts'
import { trendsLink } from './filters.ts'
import type { Trends } from './figures.ts'

const orders: readonly (readonly [LineSort, string])[] = [
  ['slowest', 'Slowest'],
  ['total', 'Most time in total'],
  ['failing', 'Most failing'],
  ['flakiest', 'Flakiest'],
]

/** Renders links to the most useful sort orders. The column headings link to all sort orders. */
export function orderChoice(trends: Trends, base: string): Content {
  return alternatives(
    'Which jobs first',
    orders.map(([sort, text]) => [text, trendsLink(base, trends, { jobs: sort }), trends.sorted.jobs === sort]),
  )
}

const whenEmpty: Readonly<Partial<Record<LineSort, string>>> = {
  slowest: 'No job ran more than once.',
  failing: 'No job failed.',
  flakiest: 'No job failed and then passed for the same commit.',
}

/** A column of a trends table. `sort` is the sort order that the column heading links to. */
type LineColumn = readonly [head: string, sort: LineSort | undefined, cell: (line: TrendLine) => Content]

function linesTable(
  label: string,
  columns: readonly LineColumn[],
  lines: readonly TrendLine[],
  sorted: LineSort,
  href: (sort: LineSort) => string,
): Content {
  const heads = columns.map(([text, sort]): string | SortHead =>
    sort === undefined ? text : { text, href: href(sort), sorted: sort === sorted ? 'descending' : undefined },
  )
  return table(
    label,
    heads,
    lines.map(line => columns.map(([, , cell]) => cell(line))),
  )
}

function column(head: string, sort: LineSort | undefined, cell: (line: TrendLine) => Content): LineColumn {
  return [head, sort, line => figure(cell(line))]
}

export function jobsTable(trends: Trends, base: string): Content {
  const { jobs, sorted } = trends
  const instanceOf = linkedInstance([...jobs, ...trends.projects])
  if (jobs.length === 0) return empty(whenEmpty[sorted.jobs] ?? 'No jobs yet.')
  const columns: readonly LineColumn[] = [
    [
      'Job',
      undefined,
      ({ instance, projectId, project, job }) =>
        html`<span class="name"
          ><a
            href="${trendsLink(base, trends, { instance: instanceOf({ instance }) ?? trends.instance, projectId, job })}"
            >${job}</a
          ><br /><span class="dim">${pathText(project)}</span></span
        >`,
    ],
    column(
      'Median',
      'p50',
      ({ p50, runs, before }) =>
        html`${duration(p50)} ${delta(p50, before?.p50, 'less', { runs: [runs, before?.runs ?? 0] })}`,
    ),
    column('p95', 'p95', ({ p95 }) => duration(p95)),
    column('Mean', 'slowest', ({ meanMs }) => duration(meanMs)),
    column('Total', 'total', ({ totalMs }) => duration(totalMs)),
    column('Queue', 'queue', ({ queueP50 }) => duration(queueP50)),
    column('Failed', 'failing', ({ failed }) => number(failed)),
    column(
      'Rate',
      'rate',
      line =>
        html`${percent(rateOf(line))}
        ${delta(rateOf(line), line.before && rateOf(line.before), 'less', { unit: 'points', runs: [line.runs, line.before?.runs ?? 0] })}`,
    ),
    column('Flaky', 'flakiest', ({ flaky }) => number(flaky)),
    column('Runs', 'runs', ({ runs }) => number(runs)),
  ]
  return html`${linesTable('Jobs', columns, jobs, sorted.jobs, sort => trendsLink(base, trends, { jobs: sort }))}
  ${isSortedAfterReading(sorted.jobs) && html`<p class="dim">Only the ${maxSorted} slowest jobs by mean are sorted.</p>`}`
}

export function projectsTable(trends: Trends, base: string): Content {
  const { projects, sorted } = trends
  const instanceOf = linkedInstance([...projects, ...trends.jobs])
  if (projects.length === 0) return empty('No projects yet.')
  const columns: readonly LineColumn[] = [
    [
      'Project',
      undefined,
      ({ instance, projectId, project }) =>
        html`<span class="name"
          ><a href="${trendsLink(base, trends, { instance: instanceOf({ instance }), projectId })}"
            >${pathText(project)}</a
          ></span
        >`,
    ],
    column('Pipelines', 'runs', ({ runs }) => number(runs)),
    column('Failed', 'failing', ({ failed }) => number(failed)),
    column('Rate', 'rate', line => percent(rateOf(line))),
    column('Median', 'p50', ({ p50 }) => duration(p50)),
    column('p95', 'p95', ({ p95 }) => duration(p95)),
    column('Total', 'total', ({ totalMs }) => duration(totalMs)),
    column('Queue, median', 'queue', ({ queueP50 }) => duration(queueP50)),
    column('Queue, p95', undefined, ({ queueP95 }) => duration(queueP95)),
  ]
  const href = (sort: LineSort): string => trendsLink(base, trends, { projects: sort })
  return html`${linesTable('Projects', columns, projects, sorted.projects, href)}
  ${isSortedAfterReading(sorted.projects) && html`<p class="dim">Only the ${maxSorted} projects with the most pipelines are sorted.</p>`}`
}

export const groupColumns: Readonly<Record<string, ShownColumn<GroupLine>>> = {
  pipelines: figures('Pipelines', ({ runs }) => runs, number),
  failed: figures('Failed', ({ failed }) => failed, number),
  rate: figures('Rate', rateOf, percent),
  mean: figures('Mean', ({ meanMs }) => meanMs, duration),
  total: figures('Total', ({ totalMs }) => totalMs, duration),
}

/** Whether rows are sorted by a value that is not stored. Only `maxSorted` rows are then read and sorted. */
function isSortedAfterReading(sort: LineSort): boolean {
  return sort === 'p50' || sort === 'p95' || sort === 'queue' || sort === 'rate'
}

export function rateOf({ runs, failed }: Pick<TrendLine, 'runs' | 'failed'>): number {
  return runs === 0 ? 0 : failed / runs
}
