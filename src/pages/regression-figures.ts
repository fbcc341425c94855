// Regressions as the pages and the JSON API show them: those that were flagged, and what a rule would have flagged.
import type { Millis } from '../model/instant.ts'
import type { PagesSources, Preview, PreviewRule } from './ports.ts'
import type { Regression } from '../store/ports/regression-documents.ts'

export type ShownRegression = Omit<Regression, 'span' | 'announced'>

export interface AskedRegressions {
  readonly projectId?: number | undefined
  /** Empty: those of pipelines and of all jobs. */
  readonly job?: string | undefined
  /** Resolved before that are left out. */
  readonly since?: Millis | undefined
}

/** Where nothing else is configured. */
export const configuredAsUsual = { enabled: true, rule: { slower: 25, slowerBy: 30, failing: 20 } }

/** Those that go on first, then the newest. */
export async function regressionsOf(
  { repositories }: Pick<PagesSources, 'repositories'>,
  { projectId, job, since = 0 }: AskedRegressions,
): Promise<ShownRegression[]> {
  const all = await repositories.regressions.all()
  return all
    .filter(one => projectId === undefined || one.projectId === projectId)
    .filter(one => job === undefined || one.job === job || one.also.includes(job))
    .filter(({ resolved }) => resolved === undefined || resolved.at >= since)
    .map(shown)
    .sort((a, b) => Number(a.resolved !== undefined) - Number(b.resolved !== undefined) || b.first.at - a.first.at)
}

function shown({ span: _, announced: __, ...one }: Regression): ShownRegression {
  return one
}

/** What the form asks for; what is no number within its bounds is as it is configured. */
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

export interface ShownPreview extends Omit<Preview, 'found' | 'project'> {
  readonly project?: string | undefined
  readonly rule: PreviewRule
  readonly found: readonly ShownRegression[]
}

/** Of a project without figures, or that is not to be seen, nothing. */
export async function previewOf(
  parts: Pick<PagesSources, 'preview'>,
  projectId: number,
  rule: PreviewRule,
): Promise<ShownPreview> {
  const preview = await parts.preview(projectId, rule)
  if (preview === undefined) return { pipelines: 0, rule, found: [] }
  return { ...preview, rule, found: preview.found.map(shown) }
}
