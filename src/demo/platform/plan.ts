// What a pipeline is meant to do: its jobs as a CI file would list them, how they will fare, and what people do about it.
import type { SimProject, SimUser } from './world.ts'

/** What writes JUnit reports. */
export type TestFramework = 'pytest' | 'surefire' | 'jest'

/** What a job leaves behind besides its tests. */
export type SimReport = 'metrics' | 'dotenv' | 'cobertura' | 'sast'

export interface JobPlan {
  readonly name: string
  readonly stage: string
  /** Running time in seconds, from and to. */
  readonly seconds: readonly [number, number]
  readonly tags: readonly string[]
  /** Default `on_success`. */
  readonly when?: 'on_success' | 'on_failure' | 'always' | 'manual' | undefined
  readonly allowFailure?: boolean | undefined
  /** The reasons its first runs fail for; later runs succeed. */
  readonly fails?: readonly string[] | undefined
  /** How often the platform retries it by itself. */
  readonly retries?: number | undefined
  readonly environment?: { readonly name: string; readonly tier: string } | undefined
  readonly artifacts?: boolean | undefined
  readonly coverage?: boolean | undefined
  /** What writes its test report, where it has one. */
  readonly tests?: TestFramework | undefined
  /** Whether it leaves spans of its own among its artifacts. */
  readonly spans?: boolean | undefined
  /** What else it reports, when it succeeds. */
  readonly reports?: readonly SimReport[] | undefined
  /** Makes it a bridge: what it triggers, and whether it waits for that and takes over its status. */
  readonly triggers?: { readonly plan: PipelinePlan; readonly depend: boolean } | undefined
}

/** Something a person does once, some seconds after a pipeline came to a status. */
export interface Act {
  readonly on: 'running' | 'failed' | 'manual' | 'canceled' | 'success'
  readonly after: number
  readonly does: 'retry' | 'cancel' | 'play'
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
  /** Why its configuration is refused: then it has no jobs. */
  readonly yamlErrors?: string | undefined
  readonly acts?: readonly Act[] | undefined
  readonly variables?: readonly { readonly key: string; readonly value: string }[] | undefined
}
