// The shapes of the JSON API's other answers: the daemon, its sources, tokens, trends. Times are Unix milliseconds. What is
// unknown is left out.
import { z } from 'zod'
import { apiBudget, backfill, ownPipelines } from '../../store/ports/discovery-documents.ts'
import { branchClasses } from '../../model/branch-class.ts'
import { lineSorts } from '../trends/trend-lines.ts'
import { regression } from './api-regression-shapes.ts'
import { listedPipeline } from './api-run-shapes.ts'
import { queue } from './api-export-shapes.ts'
import { millis, ms } from './api-units.ts'
import { refusedEndpoint } from '../../store/ports/capability-documents.ts'
import { polledProject, sweep, watchedHook } from '../../store/ports/discovery-documents.ts'

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
  running: z.array(listedPipeline),
  active: z.number(),
  silent: z.array(listedPipeline).describe('Running, but without an event for an hour.'),
  silentCount: z.number(),
  regressions: z.array(regression).describe('Unresolved ones, newest first.'),
  regressionCount: z.number(),
  lastHour: z.object({
    since: millis,
    received: z.number(),
    accepted: z.number(),
    duplicate: z.number(),
    ignored: z.number(),
    refused: z.number(),
    settled: z.number(),
    delivered: z.number(),
  }),
  finished: z.array(listedPipeline),
})

const figures = z.object({
  runs: z.number(),
  failed: z.number(),
  p50: ms.optional(),
  p95: ms.optional(),
  queueP50: ms.optional(),
})

const line = z.object({
  projectId: z.number(),
  project: z.string(),
  job: z.string(),
  runs: z.number(),
  failed: z.number(),
  flaky: z.number(),
  totalMs: ms,
  meanMs: ms,
  p50: ms.optional(),
  p95: ms.optional(),
  queueP50: ms.optional(),
  queueP95: ms.optional(),
  before: figures.optional().describe('The previous period of the same length.'),
})

export const trends = z.object({
  span: z.string(),
  step: ms,
  since: millis,
  until: millis,
  project: z.object({ id: z.number(), name: z.string() }).optional(),
  job: z.string().optional(),
  filter: z.object({
    branch: z.enum(branchClasses).optional(),
    source: z.string().optional(),
    pipelineName: z.string().optional(),
    ref: z.string().optional(),
    runner: z.string().optional(),
  }),
  pipelineNames: z.array(z.string()),
  points: z.array(figures.extend({ at: millis })),
  total: figures.describe('Over the whole period.'),
  before: figures.optional().describe('The previous period of the same length; absent unless all of it is stored.'),
  projects: z.array(line),
  jobs: z.array(line),
  regressions: z.array(regression).describe('Those of the project or job in this period, and unresolved ones.'),
  sorted: z.object({ projects: z.enum(lineSorts), jobs: z.enum(lineSorts) }),
  retained: z
    .object({
      of: z.enum(['all', 'jobs']).describe('`jobs`: filters only the table of jobs.'),
      pipelines: z.number(),
      backTo: millis.optional(),
    })
    .optional()
    .describe('Set when stored pipelines were counted: how many, and how far back if there were too many.'),
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
    refusedEndpoints: z.array(refusedEndpoint),
  }),
  inventory: z
    .array(
      z.object({
        kind: z.string(),
        of: z.string(),
        state: z.enum(['answered', 'refused', 'waiting']),
        answeredAt: millis.optional(),
        nextAt: millis,
        message: z.string().optional(),
      }),
    )
    .describe('Inventory that is polled from the platform.'),
  counters: counts,
})

export const audit = z.object({
  events: z.array(
    z.object({
      at: millis,
      observedAt: millis,
      instance: z.string(),
      body: z.string(),
      attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    }),
  ),
  next: z.string().optional(),
  sources: z.array(z.object({ source: z.string(), since: millis, upTo: millis, readAt: millis.optional() })),
  backfills: z.array(z.object({ since: millis, until: millis, upTo: millis })),
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
