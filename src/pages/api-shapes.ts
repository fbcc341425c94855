// The shapes of the JSON API's answers. Times are milliseconds of Unix time; what is unknown is left out.
import { z } from 'zod'
import { apiBudget, backfill, ownPipelines } from '../store/ports/discovery-documents.ts'
import { polledProject, sweep, watchedHook } from '../store/ports/discovery-documents.ts'

const millis = z.number().describe('Milliseconds of Unix time.')
const ms = z.number().describe('Milliseconds.')

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

const pipeline = z.object({
  instance: z.string(),
  projectId: z.number(),
  pipelineId: z.number(),
  project: z.string(),
  iid: z.number().optional(),
  status: z.string(),
  name: z.string().optional(),
  ref: z.string().optional(),
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

const counts = z.record(z.string(), z.number())

const flow = z.object({
  startedAt: millis,
  received: z.number(),
  accepted: z.number(),
  duplicate: z.number(),
  ignored: counts,
  refused: z.array(z.object({ reason: z.string(), message: z.string(), count: z.number() })),
  lastAccepted: millis.optional(),
  processed: z.number(),
  unparseable: z.number(),
  excluded: z.number(),
  attempts: z.number(),
  supplements: z.number(),
  apiClients: z.record(z.string(), counts),
  platformError: z.object({ what: z.string(), remedy: z.string() }).optional(),
})

const queue = z.object({
  destination: z.string(),
  signal: z.string(),
  state: z
    .enum(['closed', 'open', 'half-open', 'unserved'])
    .describe(
      'Of the circuit breaker: healthy, tripped, probing; `unserved`: the destination is not configured any more.',
    ),
  cause: z.enum(['unavailable', 'unauthorized', 'unacceptable']).optional().describe('Why it is not closed.'),
  pending: z.number(),
  oldest: millis.optional(),
  dead: z.number(),
  nextTry: millis.optional(),
  lastSuccess: millis.optional(),
  lastError: z.object({ message: z.string(), status: z.number().optional(), at: millis }).optional(),
  counters: counts,
})

const inbox = z.object({
  waiting: z.number(),
  waitingBytes: z.number(),
  oldest: millis.optional(),
  quarantined: z.number(),
})

const setup = z.object({
  webhooks: z.string(),
  platform: z.string().optional(),
  hasPlatformToken: z.boolean(),
  hasWebhookSecret: z.boolean(),
  destinations: z.array(
    z.object({
      name: z.string(),
      endpoints: z.array(z.object({ signal: z.string(), url: z.string() })),
      fingerprint: z.string().optional(),
      tokenFrom: z.string().optional(),
    }),
  ),
  observabilityUrl: z.string().optional(),
  enforcement: z.enum(['on', 'off', 'unknown']).optional(),
})

export const overview = z.object({
  notices: z.array(
    z.object({
      level: z.enum(['problem', 'hint']),
      what: z.string(),
      remedy: z.string(),
      more: z.string().optional(),
    }),
  ),
  flow,
  inbox,
  queues: z.array(queue),
  setup,
  hasRuns: z.boolean(),
  hooksOff: z.array(z.string()),
  running: z.array(pipeline),
  active: z.number(),
  finished: z.array(pipeline),
})

export const pipelineList = z.object({
  pipelines: z.array(pipeline),
  next: z.string().optional().describe('Give it as `after` for the next page.'),
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

export const pipelineDetail = z.object({
  pipeline,
  family: member,
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
  traceId: z.string().optional(),
  traceUrl: z.string().optional(),
})

const section = z.object({
  ordinal: z.number(),
  parent: z.number().optional().describe('The ordinal of the section around it.'),
  name: z.string(),
  title: z.string().optional(),
  kind: z.enum(['runner', 'script', 'custom']),
  clock: z.enum(['line', 'marker']),
  start: millis,
  end: millis,
  clockShift: ms.optional(),
  failed: z.literal(true).optional(),
})

export const jobDetail = z.object({
  pipeline: pipeline.omit({ jobs: true, failures: true }),
  job,
  about: z.object({
    failureDomain: z.enum(['user', 'platform', 'unknown']).optional().describe('Who can mend its failure.'),
    startedBy: z.string().optional(),
    runnerType: z.string().optional(),
    tags: z.array(z.string()).optional(),
    environment: z.string().optional(),
    coverage: z.number().optional().describe('Percent.'),
    cost: z.object({ amount: z.number(), unit: z.string(), rate: z.string().optional() }).optional(),
    critical: z.boolean().optional(),
    slackMs: ms.optional(),
  }),
  sections: z
    .object({
      start: millis,
      end: millis,
      sections: z.array(section),
      left: z.number().describe('At least so many more.'),
    })
    .optional(),
  usual: z.object({
    days: z.number(),
    runs: z.number(),
    failed: z.number(),
    p50: ms.optional(),
    p95: ms.optional(),
    queueP50: ms.optional(),
    queueP95: ms.optional(),
  }),
  history: z.object({
    runs: z.array(z.object({ pipelineId: z.number(), ref: z.string().optional(), sha: z.string().optional(), job })),
    pipelines: z.number().describe('In so many of the newest pipelines of its project they were looked for.'),
  }),
  spans: z.array(span),
})

const line = z.object({
  projectId: z.number(),
  project: z.string(),
  job: z.string(),
  runs: z.number(),
  failed: z.number(),
  flaky: z.number(),
  meanMs: ms,
  p50: ms.optional(),
  p95: ms.optional(),
  queueP50: ms.optional(),
  queueP95: ms.optional(),
})

export const trends = z.object({
  span: z.string(),
  step: ms,
  since: millis,
  until: millis,
  project: z.object({ id: z.number(), name: z.string() }).optional(),
  job: z.string().optional(),
  points: z.array(
    z.object({
      at: millis,
      runs: z.number(),
      failed: z.number(),
      p50: ms.optional(),
      p95: ms.optional(),
      queueP50: ms.optional(),
    }),
  ),
  projects: z.array(line),
  slowest: z.array(line),
  flakiest: z.array(line),
})

export const sources = z.object({
  flow,
  setup,
  inbox,
  quarantined: z.array(
    z.object({
      id: z.number(),
      event: z.string(),
      instance: z.string().optional(),
      source: z.string(),
      receivedAt: millis,
      reason: z.string(),
      version: z.string(),
      size: z.number().describe('Bytes.'),
    }),
  ),
  projects: z.array(z.object({ project: z.string(), lastObserved: millis, pipelines: z.number(), firstBy: counts })),
  discovery: z.object({
    polledProjects: z.array(polledProject),
    ownPipelines: z.array(ownPipelines),
    sweeps: z.array(sweep),
    hooks: z.array(watchedHook),
    backfills: z.array(backfill),
    budgets: z.array(apiBudget),
  }),
  counters: counts,
})

export const exports = z.object({
  queues: z.array(queue),
  deadLetters: z.array(
    z.object({
      id: z.number(),
      destination: z.string(),
      signal: z.string(),
      instance: z.string(),
      pipelineId: z.number().optional(),
      event: z.string().optional(),
      attempt: z.number(),
      chunk: z.number(),
      status: z.number(),
      error: z.string(),
      tries: z.number(),
      pendingSince: millis,
      settledAt: millis,
    }),
  ),
})

export const tokens = z.object({
  setup,
  targets: z.array(
    z.object({
      target: z.string(),
      instance: z.string(),
      current: z.object({ id: z.string(), fingerprint: z.string().optional(), since: millis }).optional(),
      older: z.number(),
      step: z.string().optional(),
    }),
  ),
  rotations: z.array(
    z.object({
      name: z.string(),
      target: z.string(),
      state: z.string(),
      startedAt: millis,
      updatedAt: millis,
      fingerprint: z.string().optional(),
    }),
  ),
  daemons: z.array(z.object({ daemon: z.string(), fingerprints: z.array(z.string()), at: millis })),
})

export const count = z.object({ count: z.number() })
