// The lists of regressions: a table for the regressions and trends pages, and short rows for the overview.
import { addressWith } from '../../../console/layout/address.ts'
import { branchNames } from '../../../model/pipeline.ts'
import { duration, number, percent, since, minute } from '../../../console/layout/format.ts'
import { badge } from '../../../console/layout/status.ts'
import { empty } from '../../../console/layout/frame.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { sortedTable, texts, type ShownColumn, type TableReader } from '../../../console/layout/sorting.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesSettings } from '../../../console/ports.ts'
import type { ShownRegression } from '../documents.ts'

interface TableOptions {
  /** The label of the list, unique on its page. */
  readonly label?: string
  /** An attribute that the operator has configured for grouping. It gets its own column. */
  readonly groupBy?: PagesSettings['groupBy']
}

export function regressionTable(
  regressions: readonly ShownRegression[],
  reader: TableReader,
  none: string,
  { label = 'Regressions', groupBy }: TableOptions = {},
): Content {
  if (regressions.length === 0) return empty(none)
  const { base, now } = reader
  const columns: Record<string, ShownColumn<ShownRegression>> = {
    what: {
      head: 'What',
      of: subjectOf,
      cell: one =>
        html`<span class="name"
          ><a href="${trendsOf(one, base)}">${subjectOf(one)}</a><br /><span class="dim"
            >${pathText(one.project)}, ${branchNames[one.branch] ?? one.branch}</span
          ></span
        >`,
    },
    ...(groupBy !== undefined && {
      group: texts(groupBy.name, ({ project, branch }: ShownRegression) => groupBy.valueOf(project, branch)),
    }),
    state: { head: 'State', of: ({ resolved, kind }) => resolved?.how ?? kind, cell: one => stateOf(one, now) },
    change: {
      head: 'Before → after',
      of: ({ before, after }) => (before === 0 ? undefined : after / before),
      cell: one =>
        html`<span class="figure">${valueOf(one, one.before)} → <strong>${valueOf(one, one.after)}</strong></span>`,
    },
    first: {
      head: 'First bad run',
      of: ({ first }) => first.at,
      cell: one =>
        html`<a href="${firstOf(one, base)}">#${one.first.pipelineId}</a><br /><span class="dim"
            >${minute(one.first.at)}</span
          >`,
    },
    cause: { head: 'Likely cause', cell: one => html`<span class="cause">${one.cause}${alsoOf(one)}</span>` },
  }
  return sortedTable(label, columns, regressions, reader)
}

/** Short rows with unresolved regressions, for the overview. */
export function regressionRows(
  regressions: readonly ShownRegression[],
  { base, now }: Pick<TableReader, 'base' | 'now'>,
): Content {
  return html`<ul class="plain-list">
    ${regressions.map(
      one =>
        html`<li>
          <p>
            <a href="${trendsOf(one, base)}"><strong>${subjectOf(one)}</strong></a> of ${one.project}
            ${one.kind === 'slower' ? html`takes <strong>${valueOf(one, one.after)}</strong>, up from ${valueOf(one, one.before)},` : html`fails in <strong>${valueOf(one, one.after)}</strong> of its runs, up from ${valueOf(one, one.before)},`}
            since <a href="${firstOf(one, base)}">#${one.first.pipelineId}</a>, ${since(one.first.at, now)}
            <span class="dim">(${branchNames[one.branch] ?? one.branch})</span>
          </p>
          <p class="dim">${one.cause}${alsoOf(one)}</p>
        </li>`,
    )}
  </ul>`
}

/**
 * Returns the subject of a regression as text. A section that only explains the regression of its job is left out, because it is part of the cause.
 */
export function subjectOf({ job, section, ofSection }: ShownRegression): string {
  const name = job === '' ? 'Pipeline' : job
  return ofSection === true && section !== undefined ? `${name} › ${section}` : name
}

function alsoOf({ also }: ShownRegression): string {
  if (also.length === 0) return ''
  const named = also.slice(0, 3).join(', ')
  return ` Changed at the same time: ${named}${also.length > 3 ? ` and ${number(also.length - 3)} more` : ''}.`
}

function stateOf({ kind, resolved }: ShownRegression, now: Millis): Html {
  if (resolved === undefined) return badge('failed', kind)
  const word = resolved.how === 'recovered' ? 'recovered' : 'the new normal'
  return html`${badge('success', word)}<br /><span class="dim">${since(resolved.at, now)}</span>`
}

export function valueOf({ kind }: Pick<ShownRegression, 'kind'>, value: number): string {
  return kind === 'slower' ? duration(value) : percent(value)
}

export function trendsOf({ instance, projectId, job, branch }: ShownRegression, base: string): string {
  return addressWith(`${base}/trends`, { instance, project: projectId, job: job === '' ? undefined : job, branch })
}

function firstOf({ projectId, instance, first }: ShownRegression, base: string): string {
  const job = first.jobId === undefined ? '' : `/jobs/${first.jobId}`
  return addressWith(`${base}/pipelines/${projectId}/${first.pipelineId}${job}`, { instance })
}
