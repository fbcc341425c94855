// The filter for a pipeline's jobs. It selects jobs whose name or stage contains the search text and, of these, optionally only the failed ones,
// those on the critical path, or the slowest. The filter applies to the waterfall and to the table. Except for the form, the functions in this file
// are pure.
import { addressWith, given } from '../layout/address.ts'
import { alternatives, type RequestContext } from '../layout/frame.ts'
import { hasFailed } from '../../model/status.ts'
import { html, type Html } from '../layout/html.ts'
import { pipelineAddress } from './run-rows.ts'
import type { RunCard } from './run-card.ts'
import type { JobCard } from './job-card.ts'

const choiceNames = { all: 'All', failed: 'Failed', critical: 'Critical path', slowest: 'Slowest' } as const
type Choice = keyof typeof choiceNames
const choices = Object.keys(choiceNames) as Choice[]

export interface JobFilter {
  /** The text to search for in names and stages, in lower case. If empty, all jobs match. */
  readonly find: string
  readonly show: Choice
}

interface FilteredJob extends Pick<JobCard, 'id' | 'name' | 'stage' | 'status' | 'ranMs'> {
  readonly isCritical: boolean
}

export const everyJob: JobFilter = { find: '', show: 'all' }
const maxSlowest = 20
/** The minimum number of jobs for which the filter form is shown. Reading a shorter list is faster than filling in a form. */
const minJobs = 15
const maxFindLength = 200

export function askedJobs(query: URLSearchParams): JobFilter {
  const show = choices.find(one => one === query.get('show')) ?? 'all'
  return { find: (given(query, 'find') ?? '').slice(0, maxFindLength).toLowerCase(), show }
}

/** Returns the IDs of the jobs that the filter selects; undefined if it selects all jobs. */
export function shownJobs({ find, show }: JobFilter, jobs: readonly FilteredJob[]): ReadonlySet<number> | undefined {
  if (find === '' && show === 'all') return undefined
  const named = jobs.filter(({ name, stage }) => `${stage}\n${name}`.toLowerCase().includes(find))
  return new Set(chosen(show, named).map(({ id }) => id))
}

function chosen(show: Choice, jobs: readonly FilteredJob[]): readonly FilteredJob[] {
  if (show === 'failed') return jobs.filter(({ status }) => hasFailed(status) || status === 'warning')
  if (show === 'critical') return jobs.filter(({ isCritical }) => isCritical)
  if (show === 'all') return jobs
  return jobs
    .filter(({ ranMs }) => ranMs !== undefined)
    .sort((a, b) => (b.ranMs ?? 0) - (a.ranMs ?? 0))
    .slice(0, maxSlowest)
}

/** Renders the job filter form; empty for a pipeline with few jobs, unless a filter is set. `shown` is the number of jobs shown. */
export function jobFilterForm(
  { find, show }: JobFilter,
  pipeline: RunCard,
  shown: number,
  { base, query }: RequestContext,
): Html | '' {
  if (pipeline.jobs.length < minJobs && find === '' && show === 'all') return ''
  const [instance, sort] = [given(query, 'instance'), given(query, 'sort')]
  const path = pipelineAddress(base, pipeline)
  const link = (changes: { readonly find?: string | undefined; readonly show?: Choice | undefined }): string =>
    `${addressWith(path, { instance, sort, ...changes })}#waterfall`
  const text = find === '' ? undefined : find
  return html`<form
    class="filters of-one job-filter"
    method="get"
    action="${path}#waterfall"
    role="search"
    aria-label="Filter jobs"
  >
    ${Object.entries({ instance, sort, show: show === 'all' ? undefined : show }).map(
      ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <label>Job or stage<input type="search" name="find" value="${find}" maxlength="${maxFindLength}" /></label>
    <span class="buttons"
      ><button>Filter</button
      >${(text ?? show) !== 'all' && html`<a class="button plain" href="${link({})}">All jobs</a>`}</span
    >
    ${alternatives(
      'Which jobs',
      choices.map(one => [choiceNames[one], link({ find: text, show: one === 'all' ? undefined : one }), one === show]),
    )}
    ${shown === 0 && html`<p class="notice hint" role="status">No job of this pipeline matches.</p>`}
  </form>`
}
