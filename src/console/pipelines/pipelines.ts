// The pipeline list, with its filters and pagination.
import { z } from 'zod'
import { addressWith } from '../layout/address.ts'
import { alternatives, card, type Page, type RequestContext } from '../layout/frame.ts'
import { counted, number, second } from '../layout/format.ts'
import {
  cursorText,
  filterForm,
  filtersIn,
  matches,
  maxSorted,
  misread,
  runQuery,
  runSorts,
  type Filters,
} from './run-filters.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { isSpanId, isTraceId, searchSpan, searchTrace, type FoundByIds } from './id-search.ts'
import { isSearch, maxCounted, type RunQuery } from '../../core/store/ports/views.ts'
import { maxProjects, unknownOwn } from '../layout/scope-heading.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import { runCard, runList, withUsual } from './run-card.ts'
import { runRows } from './run-rows.ts'
import type { PagesParts } from '../ports.ts'

export const pipelineListShape = z.object({
  pipelines: z.array(runList.shape),
  total: z
    .number()
    .optional()
    .describe('Total number of matches; absent for searches by text or job, and if there are too many to count.'),
  next: z.string().optional().describe('Pass it as `after` to get the next page.'),
  searchedBackTo: millis.optional(),
  sortedBackTo: millis
    .optional()
    .describe(
      `Set if there are more than ${maxSorted} matches to sort: only pipelines created since this time were sorted.`,
    ),
})
type PipelineList = Shaped<typeof pipelineListShape>

const pageSize = 30

type Parts = Pick<PagesParts, 'views' | 'runs' | 'isTraceOf' | 'hasSpan' | 'usuals' | 'clock'>

export async function pipelineList(parts: Parts, filters: Filters, limit = pageSize): Promise<PipelineList> {
  const by = sortOf(filters)
  if (by !== undefined) return sortedList(parts, filters, by, limit)
  const query = runQuery(filters, limit)
  const { text } = filters
  if (isTraceId(text)) {
    const found = await ofIds(parts, await searchTrace(parts, text, query.after), query)
    // If no pipeline is found by its derived trace ID, the text search is tried as well: a pipeline may have joined an existing trace (TRACEPARENT),
    // and only the text search finds that trace's ID.
    if (found.total !== 0 || query.after !== undefined) return found
  }
  const [{ runs, next, searchedBackTo }, total] = await Promise.all([
    parts.views.search(query),
    parts.views.countRuns(query),
  ])
  // Span IDs are searched only after the text search, because sixteen hex digits may also be ordinary text, such as part of a branch name.
  if (runs.length === 0 && isSpanId(text)) return ofIds(parts, await searchSpan(parts, text, query.after), query)
  return {
    pipelines: await withUsual(
      parts,
      runs.map(run => runCard(run, parts.clock)),
    ),
    next: next && cursorText(next),
    total,
    searchedBackTo,
  }
}

type Sort = (typeof runSorts)[number]

function sortOf({ sort }: Filters): Sort | undefined {
  return runSorts.find(({ as }) => as === sort)
}

/**
 * Reads the newest matching pipelines and sorts them, largest value first. The result has a single page, unless the search stopped at its limit: then
 * the next page sorts what the search finds from there on. Pipelines without a value in the sort column are omitted.
 */
async function sortedList(parts: Parts, filters: Filters, { by }: Sort, limit: number): Promise<PipelineList> {
  const { sort: _, ...rest } = filters
  const { pipelines, next, total, searchedBackTo } = await pipelineList(parts, rest, maxSorted)
  const sorted = pipelines.filter(run => by(run) !== undefined).sort((a, b) => Number(by(b)) - Number(by(a)))
  const list = { pipelines: sorted.slice(0, limit), total }
  if (searchedBackTo !== undefined) return { ...list, next, searchedBackTo }
  return { ...list, sortedBackTo: next === undefined ? undefined : pipelines.at(-1)?.createdAt }
}

async function ofIds(parts: Parts, { cards, next }: FoundByIds, query: RunQuery): Promise<PipelineList> {
  const pipelines = await withUsual(
    parts,
    cards.filter(card => matches(card, query)),
  )
  if (next === undefined) return { pipelines, total: pipelines.length }
  return { pipelines, next: cursorText(next), searchedBackTo: next.createdAt }
}

export async function pipelinesPage(parts: Parts, context: RequestContext): Promise<Page> {
  const filters = filtersIn(context.query)
  const [list, projects] = await Promise.all([pipelineList(parts, filters), parts.views.projects(maxProjects)])
  const isFiltered = Object.keys(filters).some(name => name !== 'after' && name !== 'sort')
  const { pipelines, next, searchedBackTo, sortedBackTo } = list
  const whenEmpty = isFiltered
    ? html`No pipeline matches these filters. ${spansMeant(filters)} ${jobInstead(filters, context.base)}`
    : 'No pipelines yet. If none arrive, the overview shows what to check.'
  return {
    title: 'Pipelines',
    live: filters.after === undefined,
    content: html`
      <h1>Pipelines</h1>
      ${filterForm(filters, projects, context)} ${misread(filters, projects)} ${unknownOwn(context.own)}
      ${sortChoice(filters, context.base)}
      <section id="list" data-region>
        ${card(sortOf(filters)?.title ?? newestFirst, runRows(pipelines, context, whenEmpty), { aside: howMany(list, filters) })}
        ${
          sortedBackTo !== undefined &&
          html`<p class="dim">
            Only the newest ${maxSorted} matches are sorted, back to ${second(sortedBackTo)}. Narrow the filters to sort
            older ones.
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

const newestFirst = 'Newest first'

function sortChoice({ after: _, sort, ...filters }: Filters, base: string): Html {
  const chosen = sortOf({ sort })?.as
  return alternatives(
    'Sort by',
    [{ as: undefined, title: newestFirst }, ...runSorts].map(({ as, title }) => [
      title,
      addressWith(`${base}/pipelines`, { ...filters, sort: as }),
      as === chosen,
    ]),
  )
}

/** Explains which kinds of spans a search by span ID does not cover. */
function spansMeant({ text }: Filters): Content {
  if (!isSpanId(text)) return ''
  return 'Only span ids of pipelines and jobs can be found. Span ids of sections, tests and a job’s own spans are not stored. Search for the trace id instead.'
}

/** Offers to search by job instead, because the search text may be a job name. */
function jobInstead({ text, job, after: _, ...others }: Filters, base: string): Content {
  if (text === undefined || job !== undefined || isTraceId(text)) return ''
  return html`<a href="${addressWith(`${base}/pipelines`, { ...others, job: text })}"
    >Look for a job called “${text}”</a
  >`
}

function howMany({ pipelines, total, next }: PipelineList, filters: Filters): string {
  if (total !== undefined) return `${number(pipelines.length)} of ${counted(total, 'pipeline')}`
  if (!isSearch(runQuery(filters, 0))) return `${number(pipelines.length)} of more than ${number(maxCounted)} pipelines`
  return next === undefined && filters.after === undefined
    ? counted(pipelines.length, 'pipeline')
    : `${number(pipelines.length)} on this page`
}

function pager(filters: Filters, next: string | undefined, cut: boolean, base: string): Content {
  const link = (after: string | undefined): string => addressWith(`${base}/pipelines`, { ...filters, after })
  return html`<nav class="pager" aria-label="Pages of the list">
    ${filters.after !== undefined && html`<a class="button" href="${link(undefined)}">Newest</a>`}
    ${next !== undefined && html`<a class="button" rel="next" href="${link(next)}">${cut ? 'Search older' : 'Older'}</a>`}
  </nav>`
}
