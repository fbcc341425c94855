// What became slower or less reliable, as it is remembered: one document each, from when it was flagged until some months after.
import { z } from 'zod'
import { branchClasses } from '../../model/branch-class.ts'

const times = z.object({ pipelineId: z.number(), at: z.number() })

export const regression = z.object({
  instance: z.string(),
  projectId: z.number(),
  /** Distinguishes it within its project: a digest of what it is about and of its first bad run. */
  id: z.string(),
  /** Full path. */
  project: z.string(),
  webUrl: z.string().optional(),
  kind: z.enum(['slower', 'failing']),
  branch: z.enum(branchClasses),
  /** Empty: the project's pipelines. */
  job: z.string(),
  /** Median, ms; or the share of runs that failed. */
  before: z.number(),
  after: z.number(),
  /** A run beyond this is slow, ms; 0 where failures are counted. */
  limit: z.number(),
  runsBefore: z.number(),
  runsAfter: z.number(),
  /** The first bad run. */
  first: times.extend({
    /** Of the outcome: a job's, or one made of the pipeline's and its attempt. */
    id: z.number(),
    attempt: z.number(),
    jobId: z.number().optional(),
    sha: z.string().optional(),
    ref: z.string().optional(),
    user: z.string().optional(),
    change: z.number().optional(),
    url: z.string().optional(),
  }),
  /** The run with which it was certain. */
  flagged: times,
  /** By the store's clock. */
  flaggedAt: z.number(),
  /** A sentence: what else changed with the first bad run. */
  cause: z.string(),
  /** The section that became worse itself, or that explains what became of its job, where sections are read. */
  section: z.string().optional(),
  /** It is about the section itself: its figures are those of the section. */
  ofSection: z.literal(true).optional(),
  /** Other jobs that changed with it. */
  also: z.array(z.string()),
  resolved: times.extend({ how: z.enum(['recovered', 'settled']), resolvedAt: z.number() }).optional(),
  /** The span of the first bad run: what ids are made from. */
  span: z.record(z.string(), z.unknown()).optional(),
  /** Whether it went out as an event. */
  announced: z.object({ detected: z.boolean(), resolved: z.boolean() }),
})
export type Regression = z.infer<typeof regression>
