// Regressions as they are stored: from when they are flagged until some months after.
import { z } from 'zod'
import { branchClasses } from '../../model/pipeline.ts'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { documentKind } from '../../core/store/ports/repository.ts'
import type { Shaped } from '../../console/layout/shape.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reads } from '../../core/store/ports/reads.ts'

const times = z.object({ pipelineId: z.number(), at: z.number() })

export const regression = z.object({
  instance: z.string(),
  projectId: z.number(),
  /** Unique within the project: a digest of its subject and its first bad run. */
  id: z.string(),
  /** Full path. */
  project: z.string(),
  webUrl: z.string().optional(),
  kind: z.enum(['slower', 'failing']),
  branch: z.enum(branchClasses),
  /** Empty: the project's pipelines. */
  job: z.string(),
  /** The median, ms; for `failing` the share of failed runs. */
  before: z.number(),
  after: z.number(),
  /** Runs that took longer are slow, ms; 0 for `failing`. */
  limit: z.number(),
  runsBefore: z.number(),
  runsAfter: z.number(),
  /** The first bad run. */
  first: times.extend({
    /** The job's id, or one made of pipeline and attempt. */
    id: z.number(),
    attempt: z.number(),
    jobId: z.number().optional(),
    sha: z.string().optional(),
    ref: z.string().optional(),
    user: z.string().optional(),
    change: z.number().optional(),
    url: z.string().optional(),
  }),
  /** The run with which it became certain. */
  flagged: times,
  /** By the store's clock. */
  flaggedAt: z.number(),
  /** A sentence: what else changed with the first bad run. */
  cause: z.string(),
  /** The section that became worse itself, or that explains its job's regression; only if sections are read. */
  section: z.string().optional(),
  /** It is about the section itself: its figures are those of the section. */
  ofSection: z.literal(true).optional(),
  /** Other jobs that changed with it. */
  also: z.array(z.string()),
  resolved: times.extend({ how: z.enum(['recovered', 'settled']), resolvedAt: z.number() }).optional(),
  /** What identifies the span of the first bad run. */
  span: z.record(z.string(), z.unknown()).optional(),
  /** Whether the event was exported. */
  announced: z.object({ detected: z.boolean(), resolved: z.boolean() }),
})
export type Regression = z.infer<typeof regression>

/** Written by the judge. */
export const foundRegressions = documentKind('regression', regression, ['instance', 'projectId', 'id'], {
  about: ({ instance, projectId, project }) => ({ instance, projectId, paths: [project] }),
})

/** As people and programs get it. */
export const regressionShape = regression.omit({ span: true, announced: true })
export type ShownRegression = Shaped<typeof regressionShape>

export function shown({ span: _, announced: __, ...one }: Regression): ShownRegression {
  return one
}

export const regressionsShape = z.object({ regressions: z.array(regressionShape) })

interface AskedRegressions {
  readonly projectId?: number | undefined
  /** Only projects of this group: a path that ends with a slash. */
  readonly group?: string | undefined
  /** Undefined: pipelines and all jobs; empty: pipelines only. */
  readonly job?: string | undefined
  /** Those that were resolved before are left out. */
  readonly since?: Millis | undefined
}

/** Unresolved ones first, then newest first. */
export async function regressionsOf(
  { repositories }: { readonly repositories: Pick<Reads['repositories'], 'of'> },
  { projectId, group, job, since = 0 }: AskedRegressions,
): Promise<ShownRegression[]> {
  const all = await repositories.of(foundRegressions).all()
  return all
    .filter(one => projectId === undefined || one.projectId === projectId)
    .filter(({ project }) => isInScope(project, group))
    .filter(one => job === undefined || one.job === job || one.also.includes(job))
    .filter(({ resolved }) => resolved === undefined || resolved.at >= since)
    .map(shown)
    .sort((a, b) => Number(a.resolved !== undefined) - Number(b.resolved !== undefined) || b.first.at - a.first.at)
}
