// The metrics of changes (merge requests): those counted once for each change, and those of the conventions.
import { longBounds } from '../../../model/totals.ts'
import {
  ATTR_VCS_CHANGE_STATE,
  ATTR_VCS_REF_BASE_NAME,
  ATTR_VCS_REF_HEAD_NAME,
  ATTR_VCS_REPOSITORY_URL_FULL,
} from './semconv.ts'
import { projectUrl } from './job.ts'
import { textRow, type AttributeRow } from './row.ts'
import type { ChangeFigures, ChangeMeasure } from '../../../model/change-figures.ts'
import type { EventChunk } from '../../../model/event.ts'
import type { FiguresRow } from './metrics.ts'

/** The subject of a point's attributes. */
interface ChangeSubject {
  readonly chunk: Pick<EventChunk, 'key' | 'project'>
  /** The branches, folded as refs are in metrics. */
  readonly head: string
  readonly base: string
  readonly state?: string | undefined
}

type Row = AttributeRow<ChangeSubject>

interface ChangeMetricRow extends FiguresRow<ChangeSubject & { readonly change: ChangeFigures }> {
  /** Only with `PIPESPAN_VCS_METRICS`. */
  readonly isConvention?: true
}

const repository: Row = textRow(ATTR_VCS_REPOSITORY_URL_FULL, 'known', ({ chunk }) => projectUrl(chunk))
const head: Row = textRow(
  ATTR_VCS_REF_HEAD_NAME,
  'always',
  subject => subject.head,
  'the source branch, as metrics tell the refs of merge requests apart',
)
const base: Row = textRow(
  ATTR_VCS_REF_BASE_NAME,
  'always',
  subject => subject.base,
  'the target branch, as metrics tell refs apart',
)
const state: Row = textRow(ATTR_VCS_CHANGE_STATE, 'always', subject => subject.state)

const histogram = { type: 'histogram', number: 'double', unit: 's', attributes: [] } as const
const gauge = {
  type: 'gauge',
  number: 'double',
  unit: 's',
  isConvention: true,
  attributes: [repository, head, base],
} as const
const isOn = 'with `PIPESPAN_VCS_METRICS`'

// prettier-ignore
export const changeMetrics: readonly ChangeMetricRow[] = [
  { name: 'platform.vcs.change.time_to_merge', ...histogram, values: took('merge'), bounds: longBounds, when: 'it was merged',
    description: 'Time from the creation of a change to its merge.' },
  { name: 'platform.vcs.change.time_to_approval', ...histogram, values: took('approval'), bounds: longBounds, when: 'its opening was reported, and it was approved',
    description: 'Time from the creation of a change to its first approval.' },
  { name: 'platform.vcs.change.time_to_first_pipeline', ...histogram, values: took('pipeline'), when: 'its opening was reported, and it has a merge request pipeline',
    description: 'Time from the creation of a change to the creation of its first merge request pipeline.' },
  { name: 'platform.vcs.change.time_in_merge_train', ...histogram, values: took('train'), when: 'its opening was reported, it was merged, and it has a pipeline in a merge train',
    description: 'Time from the creation of the first merge train pipeline of a change to its merge.' },
  { name: 'vcs.change.time_to_merge', ...gauge, values: took('merge'), when: `it was merged; ${isOn}`,
    description: 'The amount of time since its creation it took the latest change to get merged.' },
  { name: 'vcs.change.time_to_approval', ...gauge, values: took('approval'), when: `it was approved; ${isOn}`,
    description: 'The amount of time since its creation it took the latest change to get the first approval.' },
]

/** Computed from the changes known at the time of export, not counted. */
export const changeCountMetric = {
  name: 'vcs.change.count',
  type: 'updowncounter',
  number: 'int',
  unit: '{change}',
  attributes: [state, repository],
  when: `changes are known; ${isOn}`,
  description: 'The number of changes that are known, by their state.',
} as const

export const changeDurationMetric = {
  name: 'vcs.change.duration',
  type: 'gauge',
  number: 'double',
  unit: 's',
  attributes: [state, repository, head, base],
  when: `changes are open; ${isOn}`,
  description:
    'The time for which a change has been open, since it was opened or reopened; of several with the same attributes, the longest.',
} as const

function took(measure: ChangeMeasure): ChangeMetricRow['values'] {
  return ({ change }) => (change.measure === measure ? [change.took / 1_000] : [])
}
