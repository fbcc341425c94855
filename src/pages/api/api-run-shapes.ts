// The shapes of the JSON API's answers about pipelines and jobs. Times are Unix milliseconds. What is unknown is left out.
import { z } from 'zod'
import { branchClasses } from '../../model/branch-class.ts'
import { jobReport } from './api-test-shapes.ts'
import { millis, ms } from './api-units.ts'
import { section } from './api-log-shapes.ts'

const job = z.object({
  id: z.number(),
  kind: z.enum(['job', 'bridge']),
  name: z.string(),
  stage: z.string(),
  status: z.string(),
  allowFailure: z.boolean(),
  retried: z.boolean(),
  createdAt: millis.optional(),
  startedAt: millis.optional(),
  finishedAt: millis.optional(),
  queuedMs: ms.optional(),
  failureReason: z.string().optional(),
  url: z.string().optional(),
  runner: z.string().optional(),
  downstreamId: z.number().optional(),
})

export const pipeline = z.object({
  instance: z.string(),
  projectId: z.number(),
  pipelineId: z.number(),
  project: z.string(),
  iid: z.number().optional(),
  status: z.string(),
  name: z.string().optional(),
  ref: z.string().optional(),
  branchClass: z.enum(branchClasses),
  countedAs: z.string().describe('Name without the parts that change from run to run.'),
  sha: z.string().optional(),
  source: z.string().optional(),
  user: z.string().optional(),
  commit: z.string().optional(),
  url: z.string().optional(),
  mergeRequest: z.object({ iid: z.number(), title: z.string().optional() }).optional(),
  createdAt: millis.optional(),
  finishedAt: millis.optional(),
  changedAt: millis,
  attempts: z.number(),
  jobs: z.array(job),
  failures: z.array(job),
  waitsUntil: millis.optional(),
})

export const usual = z
  .object({
    days: z.number(),
    branch: z.enum(branchClasses).optional().describe('Branch class; absent means all branches.'),
    pipelineName: z.string().optional().describe('Pipeline name; absent means all names.'),
    runs: z.number(),
    failed: z.number(),
    p50: ms.optional(),
    p95: ms.optional(),
    queueP50: ms.optional(),
    queueP95: ms.optional(),
  })
  .describe('Usual duration, for the same branch class where that has enough runs.')

/** A pipeline in a list. */
export const listedPipeline = pipeline.extend({ usual: usual.optional() })

export const pipelineList = z.object({
  pipelines: z.array(listedPipeline),
  total: z
    .number()
    .optional()
    .describe('Number of all matches; absent for searches by text or job, and if there are too many to count.'),
  next: z.string().optional().describe('Pass it as `after` to get the next page.'),
  searchedBackTo: millis.optional(),
})

const span = z.object({
  attempt: z.number(),
  name: z.string(),
  kind: z.enum(['pipeline', 'job']),
  jobId: z.number().optional(),
  traceId: z.string(),
  spanId: z.string(),
  start: millis,
  end: millis,
  attributes: z.record(z.string(), z.unknown()),
  resource: z.record(z.string(), z.unknown()),
})

const member = z
  .object({
    card: pipeline,
    triggeredBy: z.number().optional(),
    get children() {
      return z.array(member)
    },
    left: z.number(),
  })
  .meta({ id: 'FamilyMember' })

const jobSections = z.object({
  jobId: z.number(),
  start: millis,
  end: millis,
  sections: z.array(section),
  left: z.number().describe('At least this many more sections were left out.'),
})

export const pipelineDetail = z.object({
  pipeline,
  family: member,
  usual: usual.optional(),
  jobUsuals: z.record(z.string(), usual).describe('Usual durations of its jobs, by job name.'),
  firstSeenBy: z.array(z.object({ source: z.string(), at: millis })),
  attempts: z.array(z.object({ attempt: z.number(), status: z.string(), finish: millis, incomplete: z.boolean() })),
  exports: z.array(
    z.object({
      id: z.number(),
      attempt: z.number(),
      chunk: z.number(),
      signal: z.string(),
      destination: z.string(),
      state: z.enum(['pending', 'delivered', 'dead', 'dropped']),
      pendingSince: millis,
      settledAt: millis.optional(),
      tries: z.number(),
      error: z.string().optional(),
    }),
  ),
  spans: z.array(span),
  inside: z.array(jobSections).describe('Sections of its jobs whose log was read.'),
  traceId: z.string().optional(),
  traceUrl: z.string().optional(),
})

export const jobDetail = z.object({
  pipeline: pipeline.omit({ jobs: true, failures: true }),
  job,
  about: z.object({
    failureDomain: z.enum(['user', 'platform', 'unknown']).optional().describe('Who can fix the failure.'),
    startedBy: z.string().optional(),
    runnerType: z.string().optional(),
    tags: z.array(z.string()).optional(),
    environment: z.string().optional(),
    coverage: z.number().optional().describe('Percent.'),
    cost: z.object({ amount: z.number(), unit: z.string(), rate: z.string().optional() }).optional(),
    critical: z.boolean().optional(),
    slackMs: ms.optional(),
  }),
  sections: jobSections.optional(),
  tests: jobReport.optional(),
  usual: usual.optional(),
  history: z.object({
    runs: z.array(z.object({ pipelineId: z.number(), ref: z.string().optional(), sha: z.string().optional(), job })),
    pipelines: z.number().describe('Number of newest pipelines of the project that were searched.'),
  }),
  spans: z.array(span),
})
