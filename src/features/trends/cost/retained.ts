// What exact branches and runners cost: counted over the stored pipelines, and how much of the period these are.
import { addressWith } from '../../../console/layout/address.ts'
import { card, empty, type RequestContext } from '../../../console/layout/frame.ts'
import { costLines, ofMost } from './tables.ts'
import { counted, percent, utc } from '../../../console/layout/format.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { runnerTypeName } from '../../../model/job.ts'
import { shownCosts, type Costs } from './figures.ts'
import type { CostLine, CostSum, RunnerCostLine } from './rows.ts'

/** `total`: of the whole period. */
export function retainedCard(costs: Costs, total: CostSum, context: RequestContext): Html {
  const { branches, runners, pipelines } = costs.retained
  const title = 'Exact branches and runners'
  if (pipelines === 0) return card(title, empty('No pipeline of this period is stored any more.'))
  const heading = (text: string, lines: readonly CostLine[]): Html => {
    const most = ofMost(costs, lines, shownCosts.retained)
    return html`<h3>${text}${most !== false && html` <span class="dim">(${most})</span>`}</h3>`
  }
  const branch = (line: CostLine): Content => branchCell(line, costs.project === undefined, context.base)
  const runner = (line: RunnerCostLine): Content => runnerCell(line, costs, context.base)
  return card(
    title,
    html`<p class="dim">${aboutRetained(costs, total)}</p>
      ${heading('Branches and tags', branches)}
      ${costLines(costs, 'Branches and tags', branches, context, branch, 'Branch or tag')}
      ${heading('Runners', runners)} ${costLines(costs, 'Runners', runners, context, runner)}`,
  )
}

/** Which part of the period was counted, and why not all of it. */
function aboutRetained({ retained, since }: Costs, total: CostSum): string {
  const { pipelines, backTo, storedSince } = retained
  // Daily sums are some seconds behind.
  const share = total.totalMs === 0 ? 1 : Math.min(1, retained.total.totalMs / total.totalMs)
  const what = `Counted over ${counted(pipelines, 'stored pipeline')}, with ${percent(share)} of the job time of this period.`
  if (backTo !== undefined) return `${what} There are more: only the newest were counted, back to ${minute(backTo)}.`
  if (storedSince === undefined || storedSince <= since) return what
  return `${what} The oldest stored pipeline was created ${minute(storedSince)}; jobs of older ones are only in the tables above.`
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

/** Trends know a runner by its description. */
function runnerCell({ name, runnerId, worker }: RunnerCostLine, { span, project }: Costs, base: string): Content {
  const href = addressWith(`${base}/trends`, { span, runner: name, project: project?.id })
  const about = [runnerId !== undefined && `#${runnerId}`, worker !== '' && runnerTypeName(worker)]
    .filter(Boolean)
    .join(', ')
  return html`<span class="name"
    >${name === '' ? 'unknown' : html`<a href="${href}">${name}</a>`}${about !== '' && html`<br /><span class="dim">${about}</span>`}</span
  >`
}
