// The attributes of a section's span.
import { ranOnAttributes, runId, type OfLog } from './inside-job.ts'
import type { AttributeRow } from './row.ts'
import type { Section } from '../../../model/inside.ts'

const recurs = true
const prefix = 'platform.cicd.pipeline.task.section.'

// prettier-ignore
export const sectionAttributes: readonly AttributeRow<OfLog & { readonly section: Section }>[] = [
  runId,
  { keys: [`${prefix}name`], recurs, type: 'string', when: 'always', value: ({ section }) => section.name },
  { keys: [`${prefix}title`], type: 'string', when: 'has one', note: 'one line; never of a command', value: ({ section }) => section.title },
  { keys: [`${prefix}kind`], recurs, type: 'string', when: 'always', note: '`runner`, `script` or `custom`', value: ({ section }) => section.kind },
  { keys: [`${prefix}clock`], recurs, type: 'string', when: 'always', note: '`line`: the timestamps of the lines with its markers; `marker`: the numbers in its markers',
    value: ({ section }) => section.clock },
  { keys: [`${prefix}clock_shift`], type: 'int', when: "was moved into the job's times by more than a second", note: 'ms', value: ({ section }) => section.clockShift },
  ...ranOnAttributes,
]

/** The name of the runner's own sections; the title of others, which is written for people. */
export function sectionSpanName({ kind, name, title }: Section): string {
  return (kind === 'runner' ? name : `section: ${title ?? name}`).toWellFormed()
}

/** The section's name for metrics: only the runner's own, as these are few. */
export function sectionSeries({ kind, name }: Section): string {
  return kind === 'runner' ? name : 'custom'
}
