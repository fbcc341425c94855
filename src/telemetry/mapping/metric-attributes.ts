// The attributes of metric points: few, with few values, and never a run's id.
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import { pipelineOutcome, refTypeOf } from './pipeline.ts'
import { notBlank, type AttributeRow } from './row.ts'
import { errorTypeOf, stateOf } from './statuses.ts'
import {
  ATTR_CICD_PIPELINE_NAME,
  ATTR_CICD_PIPELINE_RESULT,
  ATTR_CICD_PIPELINE_RUN_STATE,
  ATTR_CICD_PIPELINE_TASK_NAME,
  ATTR_CICD_PIPELINE_TASK_TYPE,
  ATTR_VCS_REF_HEAD_TYPE,
} from './semconv.ts'

/** The subject of a point's attributes. */
export interface MetricSubject {
  readonly chunk: Chunk
  /** The ref, folded for metrics. */
  readonly ref: string
  /** For a point of one stage. */
  readonly stage?: string | undefined
  /** For a point of jobs with equal attributes: one of them. */
  readonly job?: JobSnapshot | undefined
  /** For a point of artifacts of one type. */
  readonly artifact?: string | undefined
  /** For a point of sections of one name, folded for metrics. */
  readonly section?: string | undefined
  /** For a point of test cases with one result. */
  readonly testResult?: string | undefined
  /** For a point of a job's report. */
  readonly report?: ReportPoint | undefined
}

/** What distinguishes the points of a job's reports. */
export interface ReportPoint {
  /** Name and labels in a metrics report. */
  readonly name?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** What the total is of, or the type of the report. */
  readonly kind?: string | undefined
  readonly severity?: string | undefined
}

/** The values of one point. */
export interface Measured {
  readonly stage?: string | undefined
  /** One of several jobs with equal attributes. */
  readonly job?: JobSnapshot | undefined
  /** The type of artifacts. */
  readonly artifact?: string | undefined
  /** The name of a section, folded for metrics. */
  readonly section?: string | undefined
  /** The result of test cases. */
  readonly testResult?: string | undefined
  readonly report?: ReportPoint | undefined
  /** One for a gauge, increments for a counter, observations for a histogram. */
  readonly values: readonly number[]
}

export interface ActiveSubject {
  readonly name?: string | undefined
  readonly project: ProjectFacts
  readonly status: string
}

export type MetricAttribute = AttributeRow<MetricSubject>
type Row = MetricAttribute

const status: Row = {
  keys: ['pipeline.status'],
  type: 'string',
  when: 'always',
  value: ({ chunk }) => chunk.pipeline.facts.status,
}
const result: Row = {
  keys: [ATTR_CICD_PIPELINE_RESULT],
  type: 'string',
  when: 'the pipeline ended',
  value: ({ chunk }) => pipelineOutcome(chunk).result,
}
const trigger: Row = {
  keys: ['platform.cicd.pipeline.trigger.type'],
  type: 'string',
  when: 'known',
  value: ({ chunk }) => chunk.pipeline.facts.source,
}
const refType: Row = {
  keys: [ATTR_VCS_REF_HEAD_TYPE],
  type: 'string',
  when: 'known',
  value: ({ chunk }) => refTypeOf(chunk.pipeline.facts.tag),
}
const name: Row = {
  keys: [ATTR_CICD_PIPELINE_NAME],
  type: 'string',
  when: 'known',
  note: 'else the path of the project',
  value: ({ chunk }) => notBlank(chunk.pipeline.facts.name) ?? chunk.project.path,
}

export const legacyAttributes: readonly Row[] = [
  status,
  { keys: ['pipeline.ref'], type: 'string', when: 'always', note: 'folded', value: ({ ref }) => ref },
]

const failed: Row = {
  keys: [ATTR_ERROR_TYPE],
  type: 'string',
  when: 'result `failure`, `error` or `timeout`',
  value: ({ chunk }) => errorTypeOf(pipelineOutcome(chunk)),
}

export const conventionAttributes: readonly Row[] = [
  name,
  {
    keys: [ATTR_CICD_PIPELINE_RUN_STATE],
    type: 'string',
    when: 'the status is known',
    value: ({ chunk }) => stateOf(chunk.pipeline.facts.status),
  },
  result,
  trigger,
  refType,
]

export const durationAttributes: readonly Row[] = [...conventionAttributes, failed]

export const feedbackAttributes: readonly Row[] = [name, refType]

/** The name of the job whose log or report is measured. */
export const taskName: Row = {
  keys: [ATTR_CICD_PIPELINE_TASK_NAME],
  type: 'string',
  when: 'always',
  value: ({ chunk }) => chunk.inside?.job.name ?? '',
}

export const legacyStageAttributes: readonly Row[] = [
  { keys: ['job.stage'], type: 'string', when: 'always', value: ({ stage }) => stage },
  status,
]

export const conventionStageAttributes: readonly Row[] = [
  { keys: [ATTR_CICD_PIPELINE_TASK_TYPE], type: 'string', when: 'always', value: ({ stage }) => stage },
  result,
  trigger,
  refType,
]

export const errorAttributes: readonly Row[] = [name, failed]

export const sectionMetricAttributes: readonly Row[] = [
  name,
  {
    keys: ['platform.cicd.pipeline.task.section.name'],
    type: 'string',
    when: 'always',
    note: "the runner's own; others are `custom`",
    value: ({ section }) => section,
  },
]

export const activeAttributes: readonly AttributeRow<ActiveSubject>[] = [
  {
    keys: [ATTR_CICD_PIPELINE_NAME],
    type: 'string',
    when: 'known',
    value: ({ name: own, project }) => notBlank(own) ?? project.path,
  },
  {
    keys: [ATTR_CICD_PIPELINE_RUN_STATE],
    type: 'string',
    when: 'the status is known',
    value: ({ status: own }) => stateOf(own),
  },
]
