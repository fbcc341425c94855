// The kinds of pipelines at the simulated company: the jobs in their CI files, and the course of each run.
import { branchName, commitMessage, projects, robot, users } from './world.ts'
import type { JobPlan, PipelinePlan } from './state.ts'
import type { Random } from './random.ts'

const stages = ['build', 'test', 'deploy'] as const
const linux = ['linux', 'docker']

/** The kinds of pipelines, by name. Each call chooses a branch, a commit and an author. */
export const scenarios = {
  branch: random => ({
    ...pushed(random, projects.storefront),
    ref: branchName(random),
    jobs: [
      ...storefrontJobs(),
      job('browser tests', 'test', [35, 70], { allowFailure: true, fails: failsOften(random) }),
    ],
  }),

  mergeRequest: random => ({
    ...pushed(random, projects.checkout),
    source: 'merge_request_event',
    name: 'Merge request checks',
    ref: branchName(random),
    jobs: [
      ...checkoutJobs(),
      job('license scan', 'test', [12, 25], { allowFailure: true, fails: ['script_failure'] }),
      job('review app', 'deploy', [15, 30], { environment: { name: 'review/cart', tier: 'development' } }),
    ],
  }),

  /** A test fails, so the deployment is skipped. A user retries the pipeline: the test gets a new id, the deployment keeps its id. */
  retried: random => ({
    ...pushed(random, projects.checkout),
    name: 'Main',
    jobs: [
      ...checkoutJobs({ fails: ['script_failure'] }),
      job('deploy staging', 'deploy', [20, 40], { environment: { name: 'staging', tier: 'staging' } }),
      job('tell the team', 'deploy', [3, 6], { when: 'on_failure' }),
    ],
    acts: [{ on: 'failed', after: 50, does: 'retry' }],
  }),

  /** A runner fails, and the platform retries its job automatically. */
  flakyRunner: random => ({
    ...pushed(random, projects.app),
    name: 'App',
    ref: branchName(random),
    jobs: [
      job('build android', 'build', [40, 80], { artifacts: true }),
      job('build ios', 'build', [50, 90], {
        tags: ['macos', 'xcode'],
        fails: ['runner_system_failure'],
        retries: 2,
        artifacts: true,
      }),
      job('unit tests', 'test', [20, 35], { coverage: true, tests: true }),
    ],
  }),

  /** A pipeline with bridges to two child pipelines, one of which triggers a pipeline of another project, so that there are three levels. */
  family: random => ({
    ...pushed(random, projects.storefront),
    name: 'Monorepo',
    jobs: [
      job('detect changes', 'build', [5, 10]),
      bridge('frontend', 'test', childPlan(random, 'Frontend'), true),
      bridge('backend', 'test', { ...childPlan(random, 'Backend'), ...withRollout(random) }, true),
      job('deploy preview', 'deploy', [12, 24], { environment: { name: 'preview', tier: 'development' } }),
    ],
  }),

  /** The child pipeline fails and is retried. The parent's bridge runs again under its own id. */
  retriedChild: random => ({
    ...pushed(random, projects.storefront),
    name: 'Monorepo',
    jobs: [
      job('detect changes', 'build', [5, 10]),
      bridge(
        'frontend',
        'test',
        { ...childPlan(random, 'Frontend', ['script_failure']), acts: [{ on: 'failed', after: 45, does: 'retry' }] },
        true,
      ),
      job('deploy preview', 'deploy', [12, 24]),
    ],
  }),

  /** A tag pipeline. The deployment to production is manual, and then triggers a pipeline of another project without waiting for it. */
  release: random => ({
    ...pushed(random, projects.checkout),
    name: 'Release',
    ref: `v${random.whole(2, 6)}.${random.whole(0, 30)}.${random.whole(0, 9)}`,
    tag: true,
    stages: [...stages, 'rollout'],
    jobs: [
      ...checkoutJobs(),
      job('deploy production', 'deploy', [25, 45], {
        when: 'manual',
        tags: ['linux', 'deploy'],
        environment: { name: 'production', tier: 'production' },
      }),
      bridge('roll out', 'rollout', rolloutPlan(random), false),
    ],
    acts: [{ on: 'manual', after: 70, does: 'play' }],
  }),

  nightly: random => ({
    ...pushed(random, projects.reports),
    source: 'schedule',
    name: 'Nightly',
    user: robot,
    variables: [
      { key: 'SCOPE', value: 'full' },
      { key: 'WAREHOUSE_PASSWORD', value: `hunter-${random.hex(8)}` },
    ],
    jobs: [
      job('extract', 'build', [30, 60]),
      job('figures: sales', 'test', [40, 70], { tags: ['large'] }),
      job('figures: returns', 'test', [40, 70], { tags: ['large'], fails: ['job_execution_timeout'] }),
      job('publish', 'deploy', [8, 14]),
    ],
  }),

  /** A user cancels the pipeline while it is running. */
  canceled: random => ({
    ...pushed(random, projects.app),
    source: 'web',
    ref: branchName(random),
    jobs: [
      job('build android', 'build', [90, 120]),
      job('unit tests', 'test', [20, 35]),
      job('beta', 'deploy', [9, 20]),
    ],
    acts: [{ on: 'running', after: 30, does: 'cancel' }],
  }),

  /** A pipeline whose manual job is never started. */
  blocked: random => ({
    ...pushed(random, projects.infra),
    name: 'Plan and apply',
    jobs: [
      job('plan', 'build', [15, 30], { artifacts: true }),
      job('apply', 'deploy', [30, 50], { when: 'manual', tags: ['linux', 'deploy'] }),
    ],
  }),

  /** A pipeline whose configuration has an error, so that it fails without jobs. */
  refused: random => ({
    ...pushed(random, projects.storefront),
    ref: branchName(random),
    jobs: [],
    yamlErrors: 'jobs:unit tests config contains unknown keys: scrpt',
  }),

  /** A pipeline whose deployment to production fails. */
  failedDeployment: random => ({
    ...pushed(random, projects.storefront),
    name: 'Deploy',
    jobs: [
      ...storefrontJobs(),
      job('deploy production', 'deploy', [20, 40], {
        tags: ['linux', 'deploy'],
        environment: { name: 'production', tier: 'production' },
        fails: ['script_failure'],
      }),
    ],
    acts: [{ on: 'failed', after: 120, does: 'retry' }],
  }),

  /** The platform cancels the pipeline because of a newer push to its branch. */
  superseded: random => ({
    ...pushed(random, projects.checkout),
    ref: branchName(random),
    jobs: checkoutJobs(),
    acts: [{ on: 'running', after: 25, does: 'supersede' }],
  }),

  /** The smallest pipeline, for load tests in which only the number of pipelines matters. */
  small: random => ({
    ...pushed(random, projects.storefront),
    jobs: [
      job('build', 'build', [10, 20]),
      job('unit tests', 'test', [10, 20], { fails: failsOften(random) }),
      job('lint', 'test', [5, 9]),
      job('deploy', 'deploy', [5, 9]),
    ],
  }),
} as const satisfies Record<string, Scenario>

type Scenario = (random: Random) => PipelinePlan
export type ScenarioName = keyof typeof scenarios

/**
 * The kinds of pipelines, in the order in which they are started. The first six kinds create ten pipelines in total, because some have child
 * pipelines.
 */
export const allScenarios = [
  'branch',
  'retried',
  'family',
  'mergeRequest',
  'release',
  'flakyRunner',
  'canceled',
  'nightly',
  'retriedChild',
] as const satisfies readonly ScenarioName[]

/** The scenarios of the demo, in the order in which they are started. */
export const demoScenarios = [...allScenarios, 'failedDeployment', 'superseded'] as const

type Frame = Omit<PipelinePlan, 'jobs'>

function pushed(random: Random, project: PipelinePlan['project']): Frame {
  return {
    project,
    source: 'push',
    ref: project.defaultBranch,
    user: random.pick(users),
    commitMessage: commitMessage(random),
    stages,
  }
}

function job(name: string, stage: string, seconds: JobPlan['seconds'], rest: Partial<JobPlan> = {}): JobPlan {
  return { name, stage, seconds, tags: linux, ...rest }
}

function bridge(name: string, stage: string, plan: PipelinePlan, depend: boolean): JobPlan {
  return { name, stage, seconds: [0, 0], tags: [], triggers: { plan, depend } }
}

function storefrontJobs(): JobPlan[] {
  return [
    job('install', 'build', [18, 30], { artifacts: true, reports: ['metrics'] }),
    job('lint', 'test', [8, 16], { reports: ['sast'] }),
    job('unit tests 1/3', 'test', [20, 40], { coverage: true, tests: true }),
    job('unit tests 2/3', 'test', [20, 40], { coverage: true, tests: true }),
    job('unit tests 3/3', 'test', [20, 40], { coverage: true, tests: true }),
  ]
}

function checkoutJobs(integration: Partial<JobPlan> = {}): JobPlan[] {
  return [
    job('image', 'build', [25, 45], { tags: ['large'], artifacts: true, reports: ['dotenv'] }),
    job('unit tests', 'test', [15, 30], { coverage: true, tests: true, reports: ['cobertura'] }),
    job('integration tests', 'test', [30, 55], { tests: true, artifacts: true, spans: true, ...integration }),
  ]
}

function childPlan(random: Random, name: string, fails?: readonly string[]): PipelinePlan {
  return {
    ...pushed(random, projects.storefront),
    source: 'parent_pipeline',
    name,
    jobs: [job('build', 'build', [12, 24]), job('tests', 'test', [15, 35], { fails, coverage: true, tests: true })],
  }
}

function withRollout(random: Random): Pick<PipelinePlan, 'jobs'> {
  return {
    jobs: [
      job('build', 'build', [12, 24]),
      job('contract tests', 'test', [15, 30]),
      bridge('sandbox', 'deploy', rolloutPlan(random), true),
    ],
  }
}

function rolloutPlan(random: Random): PipelinePlan {
  return {
    ...pushed(random, projects.infra),
    source: 'pipeline',
    name: 'Roll out',
    jobs: [
      job('render manifests', 'build', [6, 12]),
      job('apply', 'deploy', [14, 26], {
        tags: ['linux', 'deploy'],
        environment: { name: 'eu-west', tier: 'production' },
      }),
    ],
  }
}

function failsOften(random: Random): readonly string[] {
  return random.chance(0.4) ? ['script_failure'] : []
}
