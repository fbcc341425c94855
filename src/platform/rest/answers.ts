// Requests the parts of one pipeline one by one, and makes one observation of the answers.
import { allOf } from './pages.ts'
import { knownOf } from '../../model/versioned.ts'
import { errorOfDetails } from './error-messages.ts'
import { normalizeRest, type ExtraFacts, type RestParts } from './normalize.ts'
import {
  PlatformError,
  type AskedPipeline,
  type CallOptions,
  type ListOptions,
  type Page,
  type Pages,
  type PipelineAnswers,
  type ResourceId,
} from '../port.ts'
import type { PipelineFacts } from '../../model/observation.ts'
import type { RestBridge, RestJob, RestPipeline } from './schemas.ts'

export interface PipelineCalls {
  readonly instance: string
  pipeline(project: number, pipelineId: number, options: CallOptions): Promise<RestPipeline>
  /** The jobs of all attempts, also retried ones, without bridges. */
  pipelineJobs(project: ResourceId, pipelineId: number, options: ListOptions): Pages<RestJob>
  pipelineBridges(project: ResourceId, pipelineId: number, options: ListOptions): Pages<RestBridge>
  /** The labels of a merge request that rules for attributes want. */
  changeLabels(project: ResourceId, iid: number, options: CallOptions): Promise<readonly string[] | undefined>
  pipelineVariables(project: ResourceId, pipelineId: number, options: CallOptions): Promise<ReadVariables>
}

/** What is read of a pipeline's variables. */
export interface ReadVariables {
  /** The W3C traceparent, if it is valid. */
  readonly traceparent?: string | undefined
  /** The variables that rules for attributes name. */
  readonly allowed?: PipelineFacts['variables']
}

export function answersAbout(
  client: PipelineCalls,
  { pipelineId, project, mergeRequest }: AskedPipeline,
): PipelineAnswers {
  const { id } = project
  const { instance } = client
  const parts: { -readonly [Part in keyof RestParts]: RestParts[Part] } = { instance }
  let pipeline: RestPipeline | undefined
  let variables: ReadVariables | undefined
  const extra: { -readonly [Fact in keyof ExtraFacts]: ExtraFacts[Fact] } = { mergeRequest }
  return {
    ask: async (part, call) => {
      switch (part) {
        case 'pipeline':
          pipeline = await client.pipeline(id, pipelineId, call)
          return true
        case 'traceparent':
          variables ??= await client.pipelineVariables(id, pipelineId, call)
          extra.traceparent = variables.traceparent
          return true
        case 'variables':
          variables ??= await client.pipelineVariables(id, pipelineId, call)
          extra.variables = variables.allowed
          return true
        case 'jobs': {
          const { items, left } = await listed(part, client.pipelineJobs(id, pipelineId, call))
          parts.jobs = items
          return left === 0
        }
        case 'bridges': {
          const { items, left } = await listed(part, client.pipelineBridges(id, pipelineId, call))
          parts.bridges = items
          return left === 0
        }
      }
    },
    askLabels: async (of, call) => {
      extra.labels = await client.changeLabels(of.targetProjectId ?? id, of.iid, call)
    },
    observation: () =>
      pipeline === undefined
        ? normalizeRest({ ...parts, pipelineId, project })
        : normalizeRest({
            ...{ ...parts, pipeline, project },
            extra: knownOf(extra),
          }),
  }
}

async function listed<T>(part: 'jobs' | 'bridges', pages: AsyncIterable<Page<T>>) {
  try {
    return await allOf(pages)
  } catch (error) {
    const isRefusal = error instanceof PlatformError && (error.kind === 'forbidden' || error.kind === 'not-found')
    throw isRefusal ? errorOfDetails(part, error) : error
  }
}
