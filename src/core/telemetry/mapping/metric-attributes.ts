// The attributes of metric points: few, with few values, and never a run's id.
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import { branchClassOf } from '../../../model/pipeline.ts'
import type { Chunk, JobSnapshot } from '../../../model/chunk.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import { pipelineOutcome, refTypeOf } from './pipeline.ts'
import { notBlank, textRow, type AttributeRow } from './row.ts'
import { errorTypeOf, results, stateOf, type RunState } from './statuses.ts'
import { taskStage, taskTypeOf } from './job.ts'
import {
  ATTR_CICD_PIPELINE_NAME,
  ATTR_CICD_PIPELINE_RESULT,
  ATTR_CICD_PIPELINE_RUN_STATE,
  ATTR_CICD_PIPELINE_TASK_TYPE,
  ATTR_VCS_REF_HEAD_TYPE,
} from './semconv.ts'

/** What distinguishes the points of one metric of a chunk. */
interface PointSubject {
  readonly stage?: string | undefined
  /** The state of a run that is measured. */
  readonly state?: RunState | undefined
  /** One of several jobs with equal attributes. */
  readonly job?: JobSnapshot | undefined
  /** The type of artifacts. */
  readonly artifact?: string | undefined
  /** The name of a section, folded for metrics. */
  readonly section?: string | undefined
  /** The result of test cases. */
  readonly testResult?: string | undefined
  readonly report?: ReportPoint | undefined
}

/** The subject of a point's attributes. */
export interface MetricSubject extends PointSubject {
  readonly chunk: Chunk
  /** The ref, folded for metrics. */
  readonly ref: string
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
export interface Measured extends PointSubject {
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

const status: Row = textRow('pipeline.status', 'always', ({ chunk }) => chunk.pipeline.facts.status)
const result = textRow<MetricSubject>(
  ATTR_CICD_PIPELINE_RESULT,
  'the pipeline ended',
  ({ chunk }) => pipelineOutcome(chunk).result,
)
const trigger: Row = textRow('platform.cicd.pipeline.trigger.type', 'known', ({ chunk }) => chunk.pipeline.facts.source)
const refType: Row = textRow(ATTR_VCS_REF_HEAD_TYPE, 'known', ({ chunk }) => refTypeOf(chunk.pipeline.facts.tag))
export const pipelineName: Row = textRow(
  ATTR_CICD_PIPELINE_NAME,
  'known',
  ({ chunk }) => notBlank(chunk.pipeline.facts.name) ?? chunk.project.path,
  'else the path of the project',
)

export const refClass: Row = textRow(
  'platform.vcs.ref.class',
  'always',
  ({ chunk }) => branchClassOf(chunk.pipeline.facts, chunk.project),
  '`default` (branch), `merge_request`, `tag`, `other`',
)

export const latestStates = { attribute: ATTR_CICD_PIPELINE_RESULT, values: results } as const

export const latestAttributes: readonly Row[] = [
  refClass,
  // Every result has a point of its own.
  textRow(latestStates.attribute, 'always', () => undefined),
]

export const legacyAttributes: readonly Row[] = [status, textRow('pipeline.ref', 'always', ({ ref }) => ref, 'folded')]

const failed = textRow<MetricSubject>(ATTR_ERROR_TYPE, 'result `failure`, `error` or `timeout`', ({ chunk }) =>
  errorTypeOf(pipelineOutcome(chunk)),
)

export const conventionAttributes: readonly Row[] = [
  pipelineName,
  textRow(ATTR_CICD_PIPELINE_RUN_STATE, 'the status is known', ({ chunk }) => stateOf(chunk.pipeline.facts.status)),
  result,
  trigger,
  refType,
]

export const durationAttributes: readonly Row[] = [...conventionAttributes, failed]

/** Result and error are not set before the run executes. */
function whenExecuted(row: ReturnType<typeof textRow<MetricSubject>>): Row {
  return { ...row, value: subject => (subject.state === 'executing' ? row.value(subject) : undefined) }
}

export const strictDurationAttributes: readonly Row[] = [
  pipelineName,
  textRow(ATTR_CICD_PIPELINE_RUN_STATE, 'always', ({ state }) => state, '`pending` or `executing`'),
  whenExecuted(result),
  trigger,
  refType,
  whenExecuted(failed),
]

export const feedbackAttributes: readonly Row[] = [pipelineName, refType]

export const legacyStageAttributes: readonly Row[] = [textRow('job.stage', 'always', ({ stage }) => stage), status]

export const conventionStageAttributes: readonly Row[] = [
  { ...textRow<MetricSubject>(ATTR_CICD_PIPELINE_TASK_TYPE, 'always', ({ stage }) => stage), only: 'contract' },
  {
    ...textRow<MetricSubject>(ATTR_CICD_PIPELINE_TASK_TYPE, 'the stage has such a name', ({ stage }) =>
      taskTypeOf(stage),
    ),
    only: 'strict',
  },
  { ...textRow<MetricSubject>(taskStage, 'always', ({ stage }) => stage), only: 'strict' },
  result,
  trigger,
  refType,
]

export const errorAttributes: readonly Row[] = [pipelineName, failed]

export const activeAttributes: readonly AttributeRow<ActiveSubject>[] = [
  textRow(ATTR_CICD_PIPELINE_NAME, 'known', ({ name: own, project }) => notBlank(own) ?? project.path),
  textRow(ATTR_CICD_PIPELINE_RUN_STATE, 'the status is known', ({ status: own }) => stateOf(own)),
]
