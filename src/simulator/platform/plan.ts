// The plan of a pipeline: its jobs as in a CI file, how each of them will end, and what people do about it.
import type { SimProject, SimUser } from './world.ts'

/** Test frameworks that write JUnit reports. */
export type TestFramework = 'pytest' | 'surefire' | 'jest'

/** Reports other than those of tests. */
export type SimReport = 'metrics' | 'dotenv' | 'cobertura' | 'sast'

export interface JobPlan {
  readonly name: string
  readonly stage: string
  /** The least and the greatest duration in seconds. */
  readonly seconds: readonly [number, number]
  readonly tags: readonly string[]
  /** Default `on_success`. */
  readonly when?: 'on_success' | 'on_failure' | 'always' | 'manual' | undefined
  readonly allowFailure?: boolean | undefined
  /** The failure reasons of its first runs; later runs succeed. */
  readonly fails?: readonly string[] | undefined
  /** How often the platform retries it by itself. */
  readonly retries?: number | undefined
  readonly environment?: { readonly name: string; readonly tier: string } | undefined
  readonly artifacts?: boolean | undefined
  readonly coverage?: boolean | undefined
  /** The framework of its test report, if it has one. */
  readonly tests?: TestFramework | undefined
  /** Whether it writes spans of its own to its artifacts. */
  readonly spans?: boolean | undefined
  /** Its other reports, if it succeeds. */
  readonly reports?: readonly SimReport[] | undefined
  /** Makes it a bridge. `depend`: it waits for the triggered pipeline and takes over its status. */
  readonly triggers?: { readonly plan: PipelinePlan; readonly depend: boolean } | undefined
}

/** Something that a person does once, `after` seconds after the pipeline reached the status `on`. */
interface Act {
  readonly on: 'running' | 'failed' | 'manual' | 'canceled' | 'success'
  readonly after: number
  /** `supersede`: a newer pipeline of its ref comes, and it is canceled. */
  readonly does: 'retry' | 'cancel' | 'play' | 'supersede'
}

export interface PipelinePlan {
  readonly project: SimProject
  readonly source: 'push' | 'merge_request_event' | 'schedule' | 'web' | 'parent_pipeline' | 'pipeline'
  /** `workflow:name` of the CI file. */
  readonly name?: string | undefined
  /** A branch, or a tag's name. */
  readonly ref: string
  readonly tag?: boolean | undefined
  readonly user: SimUser
  readonly commitMessage: string
  /** In order. */
  readonly stages: readonly string[]
  readonly jobs: readonly JobPlan[]
  /** The errors in its configuration: it then has no jobs. */
  readonly yamlErrors?: string | undefined
  readonly acts?: readonly Act[] | undefined
  readonly variables?: readonly { readonly key: string; readonly value: string }[] | undefined
}
