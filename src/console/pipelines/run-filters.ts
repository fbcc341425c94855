// The filters of the pipeline list in all their forms: in page addresses, as JSON API parameters, as a store query, and as an HTML form.
import { z } from 'zod'
import { atMost, nextPage, ownValue, scope, text } from '../api/api-queries.ts'
import { choice, ownField, projectField, unknownScope } from '../layout/scope-heading.ts'
import { filterOf, runFilters, type RunFilter } from '../../core/store/ports/run-columns.ts'
import { given } from '../layout/address.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { isKnownStatus } from '../../model/status.ts'
import { runList, type RunCard } from './run-card.ts'
import type { Millis } from '../../model/instant.ts'
import type { RequestContext } from '../layout/frame.ts'
import type { RunCursor, RunQuery } from '../../core/store/ports/views.ts'

/** The format of a time: `2026-06-01` or `2026-06-01T12:00`, in UTC. */
const instantPattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d)?$/
/** The format of a pagination cursor (`next`). */
const cursorPattern = /^(-?\d{1,15})-(\d{1,15})$/

/** The columns by which the pipeline list can be sorted, largest first. The store cannot sort by them, because it does not store these values. */
export const runSorts = runList.columns.flatMap(({ as, title, by }) =>
  title === undefined || by === undefined || by === null ? [] : [{ as, title, by }],
)
/** The maximum number of pipelines read in order to sort them by a column. */
export const maxSorted = 300

const instant = z
  .string()
  .regex(instantPattern, 'Write a day as 2026-06-01, or a minute as 2026-06-01T12:00, in UTC')
  .describe('A day as 2026-06-01, or a minute as 2026-06-01T12:00, in UTC.')
  .optional()

export const pipelinesQuery = z.object({
  project: scope,
  own: ownValue,
  ...(Object.fromEntries(runFilters.map(name => [name, text(filterOf(name).description)])) as Readonly<
    Record<RunFilter, z.ZodOptional<z.ZodString>>
  >),
  job: text('Exact name of a job.'),
  text: text(
    'Part of the project, branch, user, commit message or title; `#` and an ID or IID; a revision, trace ID or span ID.',
  ),
  since: instant,
  until: instant,
  sort: z
    .enum(runSorts.map(({ as }) => as))
    .optional()
    .describe(
      `Sorts the newest ${maxSorted} matches by duration, or by duration relative to the usual one; the largest come first.`,
    ),
  after: nextPage(cursorPattern),
  limit: atMost(200).default(50),
})
export type Filters = Omit<z.output<typeof pipelinesQuery>, 'limit'>

/** Returns the filters in a page's query string, valid or not. */
export function filtersIn(query: URLSearchParams): Filters {
  return Object.fromEntries(
    Object.keys(pipelinesQuery.omit({ limit: true }).shape).flatMap(name => {
      const value = given(query, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

export function runQuery(filters: Filters, limit: number): RunQuery {
  const { own: _, sort: __, since, until: last, after, ...exact } = filters
  const until = instantOf(last)
  return {
    ...exact,
    since: instantOf(since),
    // `until` is inclusive: a date includes the whole day, and a time the whole minute.
    until: until === undefined ? undefined : until + (last?.includes('T') === true ? 60_000 : 24 * 3_600_000),
    after: cursorOf(after),
    limit,
  }
}

/** Whether a run matches a query. The query's search text is not checked. */
export function matches(card: RunCard, query: RunQuery): boolean {
  const { project, job, since = -Infinity, until = Infinity } = query
  return (
    runFilters.every(name => query[name] === undefined || query[name] === card[name]) &&
    isInScope(card.project, project) &&
    (job === undefined || card.jobs.some(({ name }) => name === job)) &&
    (card.createdAt ?? since) >= since &&
    (card.createdAt ?? since) < until
  )
}

/** Parses a time. Returns undefined if the value is not a time. 2026-06-31 is parsed as 2026-07-01. */
function instantOf(text: string | undefined): Millis | undefined {
  if (text === undefined || !instantPattern.test(text)) return undefined
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = text.split(/[-T:]/).map(Number)
  return Date.UTC(year, month - 1, day, hour, minute)
}

function cursorOf(text: string | undefined): RunCursor | undefined {
  const [, createdAt, id] = cursorPattern.exec(text ?? '') ?? []
  return createdAt === undefined || id === undefined
    ? undefined
    : { createdAt: Number(createdAt), pipelineId: Number(id) }
}

export function cursorText({ createdAt, pipelineId }: RunCursor): string {
  return `${createdAt}-${pipelineId}`
}

/** Explains filters that were ignored or cannot match anything, so that users do not misread the list. */
export function misread(filters: Filters, projects: readonly string[]): Content {
  const { since, until, after, status, project, sort } = filters
  const wrong = [
    ...[since, until].map(
      text =>
        text !== undefined &&
        !instantPattern.test(text) &&
        `“${text}” is not a date and was ignored. Write it as 2026-06-01, or 2026-06-01T12:00, in UTC.`,
    ),
    after !== undefined &&
      !cursorPattern.test(after) &&
      `“${after}” is not a page of this list; this is the first page.`,
    sort !== undefined &&
      runSorts.every(({ as }) => as !== sort) &&
      `“${sort}” is not a sort order and was ignored. Sort by ${runSorts.map(({ as }) => as).join(' or ')}.`,
    status !== undefined && !isKnownStatus(status) && `“${status}” is not a status of the platform.`,
  ].filter(one => one !== false)
  return [wrong.map(text => html`<p class="notice hint" role="status">${text}</p>`), unknownScope(project, projects)]
}

export function filterForm(filters: Filters, projects: readonly string[], { base, own }: RequestContext): Html {
  const field = (name: RunFilter): Html => {
    const { label, options } = filterOf(name)
    const value = filters[name]
    return html`<label
      >${label}${
        options === undefined
          ? html`<input name="${name}" value="${value}" autocomplete="off" />`
          : choice(name, options, value)
      }</label
    >`
  }
  return html`<form
    class="filters card"
    method="get"
    action="${base}/pipelines"
    role="search"
    aria-label="Filter pipelines"
  >
    <label class="wide"
      >Search<input type="search" name="text" value="${filters.text}" placeholder="project, #id, commit, user, title …"
    /></label>
    ${filters.sort !== undefined && html`<input type="hidden" name="sort" value="${filters.sort}" />`}
    ${projectField(filters.project, projects)} ${ownField(own)} ${field('status')} ${field('ref')}
    <label>Job<input name="job" value="${filters.job}" autocomplete="off" placeholder="exact name" /></label>
    ${runFilters.filter(name => name !== 'status' && name !== 'ref').map(field)}
    <label>From<input type="date" name="since" value="${filters.since}" /></label>
    <label>To<input type="date" name="until" value="${filters.until}" /></label>
    <span class="buttons"><button>Filter</button><a class="button plain" href="${base}/pipelines">Clear</a></span>
  </form>`
}
