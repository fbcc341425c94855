// The events that really happened on the simulated platform, in a plain form that tests compare with the received data.
import { isOver, rootOf, type SimPipeline, type SimStatus } from '../../src/simulator/platform/state.ts'

export interface PipelineTruth {
  readonly id: number
  readonly projectId: number
  readonly rootId: number
  readonly parent: { readonly pipelineId: number; readonly bridgeId: number } | undefined
  readonly status: SimStatus
  readonly finishedAt: number | undefined
  /** Each time the pipeline ended, in order. A retried pipeline ends several times. */
  readonly ends: readonly { readonly at: number; readonly status: SimStatus }[]
  /** All jobs and bridges of the pipeline, including superseded ones, by id. */
  readonly jobs: readonly JobTruth[]
}

export interface JobTruth {
  readonly id: number
  readonly kind: 'job' | 'bridge'
  readonly name: string
  readonly status: SimStatus
  readonly retried: boolean
  readonly startedAt: number | undefined
  readonly finishedAt: number | undefined
  /** The number of times that the job ran under this ID. */
  readonly runs: number
}

export function truthOf(pipeline: SimPipeline): PipelineTruth {
  const { id, project, status, finishedAt, trigger, history, jobs } = pipeline
  return {
    id,
    projectId: project.id,
    rootId: rootOf(pipeline).id,
    parent: trigger && { pipelineId: trigger.pipeline.id, bridgeId: trigger.bridge.id },
    status,
    finishedAt,
    ends: history.filter(turn => isOver(turn.status)),
    jobs: jobs.map(job => ({
      id: job.id,
      kind: job.kind,
      name: job.plan.name,
      status: job.status,
      retried: job.retried,
      startedAt: job.startedAt,
      finishedAt: job.finishedAt,
      runs: job.history.filter(turn => turn.status === 'running').length,
    })),
  }
}
