// Renders the lines of a job's log, with their sections and colours.
import { counted, number, size } from '../../../console/layout/format.ts'
import { findLines } from './job-log-detail.ts'
import { html, type Content, type Html } from '../../../console/layout/html.ts'
import type { ShownLine, ShownLog } from '../../../platform/port/inside.ts'

type Log = Extract<ShownLog, { as: 'log' }>

/** A group of consecutive lines in the same section. */
interface Group {
  readonly section: number | undefined
  readonly lines: ShownLine[]
  /** Whether lines were left out before this group. */
  readonly isAfterGap: boolean
}

/** Renders the whole log. The failed section is expanded. If a job failed but none of its sections did, the last lines are expanded. */
export function wholeLog({ lines, sections, missing }: Log, hasFailed: boolean): Content {
  const known = new Map(sections.map(section => [section.ordinal, section]))
  const groups = groupsOf(lines, missing?.number)
  const whereFailed = groups.filter(({ section }) => section !== undefined && known.get(section)?.failed === true)
  const isOpen = (group: Group): boolean =>
    sections.length === 0 ||
    whereFailed.includes(group) ||
    (hasFailed && whereFailed.length === 0 && group === groups.at(-1))
  return groups.map(group => {
    const section = group.section === undefined ? undefined : known.get(group.section)
    const name = section?.title ?? section?.name ?? 'Outside any section'
    return html`${
        group.isAfterGap &&
        missing !== undefined &&
        html`<p class="dim">
          ${counted(missing.lines, 'line')} (${size(missing.bytes)}) ${missing.lines === 1 ? 'is' : 'are'} left out
          here.
        </p>`
      }
      <details class="log-section" ${isOpen(group) && html` open`}>
        <summary>
          ${name}${section?.failed === true && html` <span class="tag">failed here</span>`}
          <span class="dim">${counted(group.lines.length, 'line')}</span>
        </summary>
        ${printed(group.lines, name)}
      </details>`
  })
}

/** `gap` is the line number of the first omitted line. */
function groupsOf(lines: readonly ShownLine[], gap = Infinity): Group[] {
  const groups: Group[] = []
  let before = 0
  for (const line of lines) {
    const isAfterGap = before < gap && line.number >= gap
    before = line.number
    const last = groups.at(-1)
    if (last !== undefined && last.section === line.section && !isAfterGap) last.lines.push(line)
    else groups.push({ section: line.section, lines: [line], isAfterGap })
  }
  return groups
}

export function foundLines(lines: readonly ShownLine[], find: string): Content {
  const found = findLines(lines, find)
  return html`<p role="status">${counted(found.count, 'line')} of ${number(lines.length)} with “${find}”.</p>
    ${found.count > 0 && printed(found.lines, 'Matching lines')}
    ${found.count > found.lines.length && html`<p class="dim">The first ${number(found.lines.length)} are shown.</p>`}`
}

/** The template is on one line, because a browser would show line breaks within `pre`. */
export function printed(lines: readonly ShownLine[], description: string): Html {
  const content = lines.map(({ number: at, runs }) => [
    html`<span class="log-number">${String(at).padStart(6)}</span>`,
    ' ',
    runs.map(runContent),
    '\n',
  ])
  return html`<div class="scroll printed log" tabindex="0" role="region" aria-label="${description}">
    <pre>${content}</pre>
  </div>`
}

function runContent({ text, bold, colour }: ShownLine['runs'][number]): Content {
  const look = [bold && 'log-bold', colour !== undefined && `log-${colour}`].filter(Boolean).join(' ')
  return look === '' ? text : html`<span class="${look}">${text}</span>`
}
