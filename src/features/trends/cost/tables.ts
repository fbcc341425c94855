// The tables of the costs page. They show each row's cost and how much of it was wasted. Costs by exact branch and by runner are computed from the
// stored pipelines.
import { addressWith } from '../../../console/layout/address.ts'
import { card, empty, type RequestContext } from '../../../console/layout/frame.ts'
import { counted, figure, number, percent, utc } from '../../../console/layout/format.ts'
import { figures, sortedTable, type ShownColumn } from '../../../console/layout/sorting.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { runnerTypeName } from '../../../model/job.ts'
import { maxCostRows } from './figures.ts'
import { wastedPurposes } from './rows.ts'
import type { CostLine, CostSum, Costs, RetainedCosts, RunnerCostLine } from './shape.ts'
import type { WastedPurpose } from '../counting/counted-chunk.ts'

export const wastedNames: Readonly<Record<WastedPurpose, readonly [name: string, meaning: string]>> = {
  retried: ['Retried', 'Replaced by a later run of the same job'],
  superseded: ['Superseded', 'Canceled because the branch had a newer pipeline'],
  failed: ['Failed', 'Failed and was not retried'],
}

export function costTable(
  costs: Costs,
  title: string,
  some: readonly CostLine[],
  context: RequestContext,
  nameOf: (line: CostLine) => Content,
  max?: number,
): Html {
  const aside = max !== undefined && limitNote(costs, some, max)
  return card(title, costLines(costs, title, some, context, nameOf), { aside })
}

/** Returns a note that only the most expensive rows are shown; false if all rows are shown. */
export function limitNote({ unit }: Costs, some: readonly CostLine[], max: number): string | false {
  return some.length >= max && `the ${max} with the most ${unit === undefined ? 'job time' : 'cost'}`
}

/** `title` must be plural unless the first column's heading is passed separately. */
export function costLines<Line extends CostLine>(
  { unit }: Costs,
  title: string,
  some: readonly Line[],
  context: RequestContext,
  nameOf: (line: Line) => Content,
  head = title.replace(/(?:(?<=ss)e)?s$/, ''),
): Html {
  const name: ShownColumn<Line> = {
    head,
    of: ({ name, project, bucket }) => bucket ?? (name || project),
    cell: nameOf,
  }
  return sortedTable(title, { name, ...costColumns(unit) }, some, context)
}

/** Returns all columns of a cost table except the name column. */
export function costColumns<Line extends CostLine>(unit: string | undefined): Record<string, ShownColumn<Line>> {
  const show = (sum: CostSum): Content => figure(unit === undefined ? minutes(sum) : amount(sum, unit))
  const valueOf = ({ totalMs, cost }: CostSum): number => (unit === undefined ? totalMs : cost)
  return {
    ...(unit !== undefined && {
      cost: { head: 'Cost', of: (line: Line) => line.cost, cell: (line: Line) => figure(amount(line, unit)) },
    }),
    time: { head: 'Job time', of: ({ totalMs }) => totalMs, cell: line => figure(minutes(line)) },
    jobs: figures('Jobs', ({ runs }) => runs, number),
    ...Object.fromEntries(
      wastedPurposes.map((purpose): [string, ShownColumn<Line>] => [
        purpose,
        {
          head: wastedNames[purpose][0],
          of: ({ wasted }) => valueOf(wasted[purpose]),
          cell: ({ wasted }) => show(wasted[purpose]),
        },
      ]),
    ),
  }
}

/** Formats a duration in minutes, the unit in which runners are priced. */
export function minutes({ totalMs }: CostSum): string {
  if (totalMs === 0) return '–'
  const value = totalMs / 60_000
  return `${value >= 100 ? number(Math.round(value)) : value.toFixed(1)} min`
}

export function amount({ cost }: CostSum, unit: string): string {
  if (cost === 0) return '–'
  return `${cost.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${unit}`
}

/**
 * Renders the costs by exact branch and by runner or, if they have not been counted yet, a link that counts them. `total` is the total cost of the
 * whole period, and `href` is the link's address.
 */
export function retainedCard(costs: Costs, total: CostSum, href: string, context: RequestContext): Html {
  const title = 'Exact branches and runners'
  if (costs.retained === undefined)
    return card(
      title,
      html`<p>
        <a href="${href}">Count by branch and runner</a>: reads the newest 5,000 stored pipelines, which takes about a
        second.
      </p>`,
    )
  const { branches, runners, pipelines } = costs.retained
  if (pipelines === 0) return card(title, empty('No pipeline from this period is still stored.'))
  const heading = (text: string, lines: readonly CostLine[]): Html => {
    const note = limitNote(costs, lines, maxCostRows.retained)
    return html`<h3>${text}${note !== false && html` <span class="dim">(${note})</span>`}</h3>`
  }
  const branch = (line: CostLine): Content => branchCell(line, costs.project === undefined, context.base)
  const runner = (line: RunnerCostLine): Content => runnerCell(line, costs, context.base)
  return card(
    title,
    html`<p class="dim">${aboutRetained(costs, costs.retained, total)}</p>
      ${heading('Branches and tags', branches)}
      ${costLines(costs, 'Branches and tags', branches, context, branch, 'Branch or tag')}
      ${heading('Runners', runners)} ${costLines(costs, 'Runners', runners, context, runner)}`,
  )
}

/** Explains which part of the period was counted, and why the rest was not. */
function aboutRetained({ since }: Costs, retained: RetainedCosts, total: CostSum): string {
  const { pipelines, backTo, storedSince } = retained
  // The share is capped at 1, because the daily sums lag a few seconds behind the stored pipelines.
  const share = total.totalMs === 0 ? 1 : Math.min(1, retained.total.totalMs / total.totalMs)
  const what = `Computed from ${counted(pipelines, 'stored pipeline')}, with ${percent(share)} of the job time of this period.`
  if (backTo !== undefined) return `${what} Only the newest pipelines were counted, back to ${minute(backTo)}.`
  if (storedSince === undefined || storedSince <= since) return what
  return `${what} The oldest stored pipeline was created ${minute(storedSince)}; jobs of older pipelines are only included in the tables above.`
}

function minute(at: number): string {
  return `${utc(at).slice(0, 16)} UTC`
}

function branchCell({ name, project }: CostLine, isOfAll: boolean, base: string): Content {
  const href = addressWith(`${base}/pipelines`, { project, ref: name })
  return html`<span class="name"
    >${name === '' ? 'unknown' : html`<a href="${href}">${name}</a>`}${isOfAll && html`<br /><span class="dim">${pathText(project)}</span>`}</span
  >`
}

/** Renders a runner with a link to its trends, which identify a runner by its description. */
function runnerCell(
  { name, runnerId, worker }: RunnerCostLine,
  { span, instance, project }: Costs,
  base: string,
): Content {
  const href = addressWith(`${base}/trends`, { span, instance, runner: name, project: project?.id })
  const about = [runnerId !== undefined && `#${runnerId}`, worker !== '' && runnerTypeName(worker)]
    .filter(Boolean)
    .join(', ')
  return html`<span class="name"
    >${name === '' ? 'unknown' : html`<a href="${href}">${name}</a>`}${about !== '' && html`<br /><span class="dim">${about}</span>`}</span
  >`
}
