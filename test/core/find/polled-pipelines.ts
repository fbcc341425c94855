// Plans pipelines for the tests of the poller, and compares what was exported with the simulated platform.
import { Random } from '../../../src/simulator/platform/random.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { PipelinePlan } from '../../../src/simulator/platform/state.ts'
import type { PolledWorld } from './polled-world.ts'
import type { SimProject } from '../../../src/simulator/platform/world.ts'

export const whole = { groups: ['brightwater'] }

/** The exported attempts of ended pipelines. An attempt that was exported twice is listed twice. */
export function attempts(chunks: readonly Chunk[]): string[] {
  return chunks
    .filter(({ kind }) => kind === 'attempt')
    .map(({ key, attempt, pipeline }) => `${key.pipelineId}/${attempt} ${pipeline.facts.status}`)
}

/** True if no attempt and no span of a job was exported twice. */
export function once(chunks: readonly Chunk[]): boolean {
  const all = attempts(chunks)
  const jobs = chunks.flatMap(chunk => chunk.jobs.map(({ id, salt }) => `${id}~${salt ?? ''}`))
  return new Set(all).size === all.length && new Set(jobs).size === jobs.length
}

/** The status of each pipeline's last attempt. Attempts must be sorted, because exports are sent in no particular order. */
export function lastStatus(chunks: readonly Chunk[]): Map<number, string> {
  const inOrder = chunks.toSorted((a, b) => a.attempt - b.attempt)
  return new Map(inOrder.map(({ key, pipeline }) => [key.pipelineId, pipeline.facts.status]))
}

/** The status of each pipeline on the simulated platform. */
export function truth(world: PolledWorld): Map<number, string> {
  return new Map([...world.lifecycle.state.pipelines.values()].map(({ id, status }) => [id, status]))
}

export function truthOf(...pipelines: { id: number; status: string }[]): Map<number, string> {
  return new Map(pipelines.map(({ id, status }) => [id, status]))
}

export function plan(project: SimProject, rest: Partial<PipelinePlan> = {}): PipelinePlan {
  return { ...scenarios.small(new Random(1)), project, ...rest }
}

export function project(id: number): SimProject {
  return { id, name: `p${id}`, path: `acme/p${id}`, description: '', defaultBranch: 'main' }
}
