// The attributes of metric points: few and coarse, and never a run's id.
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
  ATTR_CICD_PIPELINE_TASK_TYPE,
  ATTR_VCS_REF_HEAD_TYPE,
} from './semconv.ts'

/** What a point is about. */
export interface MetricSubject {
  readonly chunk: Chunk
  /** The ref as metrics tell refs apart. */
  readonly ref: string
  /** Of a point about one stage. */
  readonly stage?: string | undefined
  /** Of a point about jobs that are alike in all that its attributes say. */
  readonly job?: JobSnapshot | undefined
  /** Of a point about artifacts of one type. */
  readonly artifact?: string | undefined
  /** Of a point about sections of one name, as metrics tell them apart. */
  readonly section?: string | undefined
  /** Of a point about test cases of one result. */
  readonly testResult?: string | undefined
  /** Of a point that a report of a job has. */
  readonly report?: ReportPoint | undefined
}

/** What distinguishes points of a job's reports. */
export interface ReportPoint {
  /** The name that a metrics report has for it, and its labels there. */
  readonly name?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Of what it is a total, or the type of the report. */
  readonly kind?: string | undefined
  readonly severity?: string | undefined
}

/** The value or values of one point. */
export interface Measured {
  readonly stage?: string | undefined
  /** One of the jobs that it is about: they are alike in all that is distinguished. */
  readonly job?: JobSnapshot | undefined
  /** The type of artifacts that it is about. */
  readonly artifact?: string | undefined
  /** The name of a section, as metrics tell sections apart. */
  readonly section?: string | undefined
  /** The result of the test cases that it is about. */
  readonly testResult?: string | undefined
  readonly report?: ReportPoint | undefined
  /** One for a gauge; what adds up for a counter; each observation for a histogram. */
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
