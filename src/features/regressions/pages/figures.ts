// Regressions for the pages and the JSON API: those that were flagged, and those that a rule would have flagged.
import { z } from 'zod'
import { bounds, ruleOf, type RegressionOptions } from '../options.ts'
import { isInScope } from '../../../core/store/ports/project-scope.ts'
import { judgingOn } from '../judging.ts'
import { millis, type Shaped } from '../../../console/layout/shape.ts'
import { previewRegressions } from '../preview.ts'
import { sectionsRead } from '../judge-project.ts'
import { regressionShape, shown, shownRegressions, type ShownRegression } from '../documents.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesSources } from '../../../console/ports.ts'

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

export async function regressionsOf(
  { repositories }: Pick<PagesSources, 'repositories'>,
  { projectId, group, job, since = 0 }: AskedRegressions,
): Promise<ShownRegression[]> {
  return (await shownRegressions(repositories))
    .filter(one => projectId === undefined || one.projectId === projectId)
    .filter(({ project }) => isInScope(project, group))
    .filter(one => job === undefined || one.job === job || one.also.includes(job))
    .filter(({ resolved }) => resolved === undefined || resolved.at >= since)
}

const within = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z.coerce.number().int().min(min).max(max)
/** The thresholds of a rule, as people write them. */
const thresholds = {
  slower: within(bounds.slower).describe('Percent longer than usual; by default as configured.'),
  slower_by: within({ min: 0, max: 86_400 }).describe('And at least this many seconds longer.'),
  failing: within(bounds.failing).describe('Percentage points more failures.'),
}
export const previewQuery = z.object(thresholds).partial()
export type AskedRule = z.infer<typeof previewQuery>

/** A rule in the address of the page: what is out of bounds is as configured. */
export function askedRule(query: URLSearchParams): AskedRule {
  return Object.fromEntries(
    Object.entries(thresholds).map(([name, shape]) => [name, shape.safeParse(query.get(name) ?? undefined).data]),
  )
}

const ruleShape = z.object({
  slower: z.number().describe('Percent.'),
  slowerBy: z.number().describe('Seconds.'),
  failing: z.number().describe('Percentage points.'),
})
export type ShownRule = z.infer<typeof ruleShape>

/** With the configured values where nothing is asked for. */
export function shownRule(
  asked: AskedRule,
  { slower, slowerBy, failing }: RegressionOptions['regressions'],
): ShownRule {
  return {
    slower: asked.slower ?? slower,
    slowerBy: asked.slower_by ?? Math.round(slowerBy / 1_000),
    failing: asked.failing ?? failing,
  }
}

export const previewShape = z.object({
  project: z.string().optional().describe('Full path; absent without figures of the last month.'),
  rule: ruleShape,
  pipelines: z.number().describe('Number of stored pipelines that were read.'),
  backTo: millis.optional(),
  found: z.array(regressionShape),
})
export type ShownPreview = Shaped<typeof previewShape>

/** Empty for a project without figures, or a hidden one. */
export async function previewOf(
  parts: Pick<PagesSources, 'on' | 'now'>,
  projectId: number,
  rule: ShownRule,
  options: RegressionOptions,
): Promise<ShownPreview> {
  const tried = {
    rule: ruleOf({ ...rule, slowerBy: rule.slowerBy * 1_000 }),
    sections: sectionsRead(options) === 'all',
  }
  const preview = await previewRegressions(parts.on(judgingOn), projectId, tried, parts.now())
  if (preview === undefined) return { pipelines: 0, rule, found: [] }
  return { ...preview, rule, found: preview.found.map(shown) }
}
