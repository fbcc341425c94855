// Regressions for the pages and the JSON API: those that were flagged, and those that a rule would have flagged.
import { z } from 'zod'
import type { Millis } from '../../model/instant.ts'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import type { PagesSources, PreviewRule } from '../ports.ts'
import { regression, type Regression } from '../../core/store/ports/regression-documents.ts'

export const regressionShape = regression.omit({ span: true, announced: true })
export type ShownRegression = Shaped<typeof regressionShape>

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

/** The default configuration. */
export const defaultRegressions = { enabled: true, rule: { slower: 25, slowerBy: 30, failing: 20 } }

/** Unresolved ones first, then newest first. */
export async function regressionsOf(
  { repositories }: Pick<PagesSources, 'repositories'>,
  { projectId, group, job, since = 0 }: AskedRegressions,
): Promise<ShownRegression[]> {
  const all = await repositories.regressions.all()
  return all
    .filter(one => projectId === undefined || one.projectId === projectId)
    .filter(({ project }) => isInScope(project, group))
    .filter(one => job === undefined || one.job === job || one.also.includes(job))
    .filter(({ resolved }) => resolved === undefined || resolved.at >= since)
    .map(shown)
    .sort((a, b) => Number(a.resolved !== undefined) - Number(b.resolved !== undefined) || b.first.at - a.first.at)
}

function shown({ span: _, announced: __, ...one }: Regression): ShownRegression {
  return one
}

/** The rule in a query. Values that are missing or out of bounds are as configured. */
export function previewRule(query: URLSearchParams, configured: PreviewRule): PreviewRule {
  const within = (name: keyof typeof bounds, usual: number): number => {
    const given = Number(query.get(name) ?? Number.NaN)
    const [least, most] = bounds[name]
    return Number.isInteger(given) && given >= least && given <= most ? given : usual
  }
  return {
    slower: within('slower', configured.slower),
    slowerBy: within('slower_by', configured.slowerBy),
    failing: within('failing', configured.failing),
  }
}

/** Percent, seconds, percentage points. */
export const bounds = { slower: [5, 1_000], slower_by: [0, 86_400], failing: [5, 90] } as const

export const previewShape = z.object({
  project: z.string().optional().describe('Full path; absent without figures of the last month.'),
  rule: z.object({
    slower: z.number().describe('Percent.'),
    slowerBy: z.number().describe('Seconds.'),
    failing: z.number().describe('Percentage points.'),
  }) satisfies z.ZodType<PreviewRule>,
  pipelines: z.number().describe('Number of stored pipelines that were read.'),
  backTo: millis.optional(),
  found: z.array(regressionShape),
})
export type ShownPreview = Shaped<typeof previewShape>

/** Empty for a project without figures, or a hidden one. */
export async function previewOf(
  parts: Pick<PagesSources, 'preview'>,
  projectId: number,
  rule: PreviewRule,
): Promise<ShownPreview> {
  const preview = await parts.preview(projectId, rule)
  if (preview === undefined) return { pipelines: 0, rule, found: [] }
  return { ...preview, rule, found: preview.found.map(shown) }
}
