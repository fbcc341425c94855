// The page that lists pipelines, with its filters and pagination.
import {
  maxProjects,
  ownField,
  projectField,
  unknownOwn,
  unknownScope,
  choice,
  sources,
} from '../layout/scope-heading.ts'
import { z } from 'zod'
import { alternatives, card, type Page, type RequestContext } from '../layout/frame.ts'
import { longest, maxSorted, runSortOf, runSorts, type RunSort } from './longest.ts'
import { counted, number, second } from '../layout/format.ts'
import { addressWith, given } from '../layout/address.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { isKnownStatus, knownStatuses } from '../../model/status.ts'
import { isSpanId, searchSpan } from './id-search.ts'
import { isTraceId, searchTrace, type FoundByIds } from './id-search.ts'
import { runCard, type RunCard } from './run-card.ts'
import { runRows } from './run-rows.ts'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import type { Millis } from '../../model/instant.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import { listedRunShape, withUsual } from './usual.ts'
import type { PagesParts } from '../ports.ts'
import { maxCounted, type RunCursor, type RunQuery } from '../../core/store/ports/views.ts'

export const pipelineListShape = z.object({
  pipelines: z.array(listedRunShape),
  total: z
    .number()
    .optional()
    .describe('Number of all matches; absent for searches by text or job, and if there are too many to count.'),
  next: z.string().optional().describe('Pass it as `after` to get the next page.'),
  searchedBackTo: millis.optional(),
  sortedBackTo: millis
    .optional()
    .describe(`Set if there are more than ${maxSorted} matches to sort: only those created since then were sorted.`),
})
type PipelineList = Shaped<typeof pipelineListShape>

const pageSize = 30

const filterNames = [
  'project',
  'own',
  'ref',
  'status',
  'source',
  'job',
  'since',
  'until',
  'text',
  'sort',
  'after',
] as const
type Filters = Readonly<Partial<Record<(typeof filterNames)[number], string | undefined>>>

function filtersOf(query: URLSearchParams): Filters {
  return Object.fromEntries(
    filterNames.flatMap(name => {
      const value = given(query, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

type Parts = Pick<PagesParts, 'views' | 'runs' | 'isTraceOf' | 'hasSpan' | 'usuals' | 'clocks'>

export async function pipelineList(parts: Parts, filters: Filters, limit = pageSize): Promise<PipelineList> {
  const by = runSortOf(filters.sort)
  if (by !== undefined) return sortedList(parts, filters, by, limit)
  const query = runQuery(filters, limit)
  const { text, job } = filters
  if (isTraceId(text)) {
    const found = await ofIds(parts, await searchTrace(parts, text, query.after), query)
    // A pipeline may have joined a trace (TRACEPARENT). That trace's id is not derived, but the text search finds it.
    if (found.total !== 0 || query.after !== undefined) return found
  }
  const [{ runs, next, searchedBackTo }, total, clock] = await Promise.all([
    parts.views.search(query),
    text === undefined && job === undefined ? parts.views.countRuns(query) : undefined,
    parts.clocks(),
  ])
  // Sixteen digits may also be a word, such as a part of a branch's name: that has been looked for first.
  if (runs.length === 0 && isSpanId(text)) return ofIds(parts, await searchSpan(parts, text, query.after), query)
  return {
    pipelines: await withUsual(
      parts,
      runs.map(run => runCard(run, clock)),
    ),
    next: next && textOf(next),
    total,
    searchedBackTo,
  }
}

/** The first of the newest matches, sorted. It has no further pages. */
async function sortedList(parts: Parts, filters: Filters, by: RunSort, limit: number): Promise<PipelineList> {
  const { sort: _, after: __, ...rest } = filters
  const { pipelines, next, total, searchedBackTo } = await pipelineList(parts, rest, maxSorted)
  const sortedBackTo = next === undefined ? undefined : pipelines.at(-1)?.createdAt
  return { pipelines: longest(pipelines, by).slice(0, limit), total, searchedBackTo, sortedBackTo }
}

async function ofIds(parts: Parts, { cards, next }: FoundByIds, query: RunQuery): Promise<PipelineList> {
  const { project, ref, status, source, job, since = -Infinity, until = Infinity } = query
  const isWanted = (card: RunCard): boolean =>
    [
      [ref, card.ref],
      [status, card.status],
      [source, card.source],
    ].every(([wanted, its]) => wanted === undefined || wanted === its) &&
    isInScope(card.project, project) &&
    (job === undefined || card.jobs.some(({ name }) => name === job)) &&
    (card.createdAt ?? since) >= since &&
    (card.createdAt ?? since) < until
  const pipelines = await withUsual(parts, cards.filter(isWanted))
  if (next === undefined) return { pipelines, total: pipelines.length }
  return { pipelines, next: textOf(next), searchedBackTo: next.createdAt }
}

export async function pipelinesPage(parts: Parts, context: RequestContext): Promise<Page> {
  const filters = filtersOf(context.query)
  const [list, projects] = await Promise.all([pipelineList(parts, filters), parts.views.projects(maxProjects)])
  const isFiltered = Object.keys(filters).some(name => name !== 'after' && name !== 'sort')
  const { pipelines, next, searchedBackTo, sortedBackTo } = list
  const whenEmpty = isFiltered
    ? html`No pipeline matches these filters. ${spansMeant(filters)} ${jobInstead(filters, context.base)}`
    : 'No pipelines yet. If none arrive, the overview says what to check.'
  return {
    title: 'Pipelines',
    live: filters.after === undefined,
    content: html`
      <h1>Pipelines</h1>
      ${filterForm(filters, projects, context)} ${misread(filters, projects)} ${unknownOwn(context.own)}
      ${sortChoice(filters, context.base)}
      <section id="list" data-region>
        ${card(sortNames[runSortOf(filters.sort) ?? 'newest'], runRows(pipelines, context, whenEmpty), { aside: howMany(list, filters) })}
        ${
          sortedBackTo !== undefined &&
          html`<p class="dim">
            Sorted among the newest ${maxSorted} that match, back to ${second(sortedBackTo)}: narrow the filters to sort
            others.
          </p>`
        }
        ${
          searchedBackTo !== undefined &&
          html`<p class="dim">
            Searched back to ${second(searchedBackTo)}. Older pipelines have not been searched yet.
          </p>`
        }
        ${pager(filters, next, searchedBackTo !== undefined, context.base)}
      </section>
    `,
  }
}

const sortNames: Readonly<Record<RunSort | 'newest', string>> = {
  newest: 'Newest first',
  duration: 'Longest first',
  usual: 'Slowest against usual first',
}

function sortChoice({ after: _, sort, ...filters }: Filters, base: string): Html {
  const chosen = runSortOf(sort)
  return alternatives(
    'Sort by',
    ([undefined, ...runSorts] as const).map(one => [
      sortNames[one ?? 'newest'],
      addressWith(`${base}/pipelines`, { ...filters, sort: one }),
      one === chosen,
    ]),
  )
}

/** Of a span id: what was not searched. */
function spansMeant({ text }: Filters): Content {
  if (!isSpanId(text)) return ''
  return 'Of span ids, those of pipelines and jobs are searched; those of sections, tests and a job’s own spans are not, as they are many and are not stored. Search for the trace id instead.'
}

/** Offers a search by job, as the searched text may be the name of one. */
function jobInstead({ text, job, after: _, ...others }: Filters, base: string): Content {
  if (text === undefined || job !== undefined || isTraceId(text)) return ''
  return html`<a href="${addressWith(`${base}/pipelines`, { ...others, job: text })}"
    >Look for a job called “${text}”</a
  >`
}

function howMany({ pipelines, total, next }: PipelineList, { text, job, after }: Filters): string {
  if (total !== undefined) return `${number(pipelines.length)} of ${counted(total, 'pipeline')}`
  if (text === undefined && job === undefined)
    return `${number(pipelines.length)} of more than ${number(maxCounted)} pipelines`
  return next === undefined && after === undefined
    ? counted(pipelines.length, 'pipeline')
    : `${number(pipelines.length)} on this page`
}

/** Explains filters that were ignored or cannot match, so that nobody misreads the list. */
function misread(filters: Filters, projects: readonly string[]): Content {
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
      runSortOf(sort) === undefined &&
      `“${sort}” is no order and was ignored. Sort by ${runSorts.join(' or ')}.`,
    status !== undefined && !isKnownStatus(status) && `“${status}” is not a status of the platform.`,
  ].filter(one => one !== false)
  return [wrong.map(text => html`<p class="notice hint" role="status">${text}</p>`), unknownScope(project, projects)]
}

function runQuery(filters: Filters, limit: number): RunQuery {
  const { own: _, sort: __, since, until: last, after, ...exact } = filters
  const until = instantOf(last)
  return {
    ...exact,
    since: instantOf(since),
    // Inclusive: a date is the whole day, a time the whole minute.
    until: until === undefined ? undefined : until + (last?.includes('T') === true ? 60_000 : 24 * 3_600_000),
    after: cursorOf(after),
    limit,
  }
}

/** `2026-06-01` or `2026-06-01T12:00`, in UTC. */
export const instantPattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d)?$/
/** The format of `next`. */
export const cursorPattern = /^(-?\d{1,15})-(\d{1,15})$/

/** Undefined for other texts. 2026-06-31 is read as 2026-07-01. */
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

function textOf({ createdAt, pipelineId }: RunCursor): string {
  return `${createdAt}-${pipelineId}`
}

function filterForm(filters: Filters, projects: readonly string[], { base, own }: RequestContext): Html {
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
    ${projectField(filters.project, projects)} ${ownField(own)}
    <label>Status${choice('status', knownStatuses, filters.status)}</label>
    <label>Branch or tag<input name="ref" value="${filters.ref}" autocomplete="off" /></label>
    <label>Job<input name="job" value="${filters.job}" autocomplete="off" placeholder="exact name" /></label>
    <label>Started by${choice('source', sources, filters.source)}</label>
    <label>From<input type="date" name="since" value="${filters.since}" /></label>
    <label>To<input type="date" name="until" value="${filters.until}" /></label>
    <span class="buttons"><button>Filter</button><a class="button plain" href="${base}/pipelines">Clear</a></span>
  </form>`
}

function pager(filters: Filters, next: string | undefined, cut: boolean, base: string): Content {
  const link = (after: string | undefined): string => addressWith(`${base}/pipelines`, { ...filters, after })
  return html`<nav class="pager" aria-label="Pages of the list">
    ${filters.after !== undefined && html`<a class="button" href="${link(undefined)}">Newest</a>`}
    ${next !== undefined && html`<a class="button" rel="next" href="${link(next)}">${cut ? 'Search older' : 'Older'}</a>`}
  </nav>`
}
