// The filters of the trends page: their form, and addresses that keep the filters.
import { branchClasses, branchNames } from '../../../model/pipeline.ts'
import { html, type Html } from '../../../console/layout/html.ts'
import { lineSortOf } from './lines.ts'
import { runColumns } from '../../../core/store/ports/run-columns.ts'
import { ownField, asItIs, choice } from '../../../console/layout/scope-heading.ts'
import { spanOf } from '../../../console/layout/trend-spans.ts'
import { addressWith, given, groupIn, wholeNumber } from '../../../console/layout/address.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'
import type { AskedTrends, Trends } from './figures.ts'

/** Parses the query string of a trends page. Invalid values, such as an unknown branch class, are ignored. */
export function askedTrends(query: URLSearchParams): AskedTrends {
  return {
    span: spanOf(query.get('span')),
    instance: given(query, 'instance'),
    projectId: wholeNumber(query.get('project') ?? ''),
    group: groupIn(query),
    own: given(query, 'own'),
    job: query.get('job') ?? undefined,
    branch: branchClasses.find(one => one === query.get('branch')),
    source: given(query, 'source'),
    pipelineName: given(query, 'name'),
    ref: given(query, 'ref'),
    runner: given(query, 'runner'),
    jobs: lineSortOf(query.get('jobs')),
    projects: lineSortOf(query.get('projects')),
  }
}

/** Returns the address of the same trends with changed filters. Setting a filter to undefined removes it. */
export function trendsLink(
  base: string,
  { span, instance, project, group: of, own, job, filter, sorted }: Trends,
  changes: AskedTrends,
): string {
  const {
    projectId,
    group,
    own: value,
    pipelineName,
    ...rest
  } = {
    ...{ span, instance, projectId: project?.id, group: of, own, job, ...filter, ...sorted },
    ...changes,
  }
  const { jobs, projects, ...others } = rest
  return addressWith(`${base}/trends`, {
    ...{ project: projectId ?? group, own: value, name: pipelineName, ...others },
    jobs: jobs === 'slowest' ? undefined : jobs,
    projects: projects === 'runs' ? undefined : projects,
  })
}

export function trendsForm(trends: Trends, { base, own }: RequestContext): Html {
  const { span, instance, project, group, job, filter, sorted, pipelineNames } = trends
  const kept = { span, instance, project: project?.id ?? group, job, ...sorted }
  const isFiltered = Object.values(filter).some(value => value !== undefined)
  const clear = { branch: undefined, source: undefined, pipelineName: undefined, ref: undefined, runner: undefined }
  return html`<form class="filters card" method="get" action="${base}/trends" role="search" aria-label="Filter trends">
    ${Object.entries(kept).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${ownField(own)}
    <label>Branches${choice('branch', branchClasses, filter.branch, one => branchNames[one] ?? one)}</label>
    <label>Started by${choice('source', runColumns.source.filter.options, filter.source)}</label>
    <label>Pipeline name${choice('name', pipelineNames, filter.pipelineName, asItIs)}</label>
    <label>Exact branch or tag<input name="ref" value="${filter.ref}" autocomplete="off" /></label>
    <label>Runner<input name="runner" value="${filter.runner}" autocomplete="off" /></label>
    <span class="buttons"
      ><button>Filter</button
      >${isFiltered && html`<a class="button plain" href="${trendsLink(base, trends, clear)}">Clear</a>`}</span
    >
  </form>`
}
