// Shows which regressions a rule would have flagged, for the page and the JSON API. It judges the stored runs of one project, and writes nothing.
import { z } from 'zod'
import { bounds, ruleOf, type RegressionOptions } from './options.ts'
import { day } from './series.ts'
import { documentOf, regressionShape, shown, withResolution } from './documents.ts'
import { judgeProject, sectionsRead } from './judge-project.ts'
import { judgingOn } from './judging.ts'
import { likelyCause } from './likely-cause.ts'
import { millis, type Shaped } from '../../console/layout/shape.ts'
import { oneOfEach } from './one-of-each.ts'
import type { PagesSources } from '../../console/ports.ts'

const within = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z.coerce.number().int().min(min).max(max)
/** The thresholds of a rule, in the units that people enter. */
const thresholds = {
  slower: within(bounds.slower).describe(
    'How much longer than usual a run must take, in percent. Default: as configured.',
  ),
  slower_by: within({ min: 0, max: 86_400 }).describe(
    'How much longer than usual a run must also take, in seconds. Default: as configured.',
  ),
  failing: within(bounds.failing).describe(
    'By how many percentage points the failure rate must rise. Default: as configured.',
  ),
}
export const previewQuery = z.object(thresholds).partial()
export type AskedRule = z.infer<typeof previewQuery>

/** Parses a rule from the query parameters of the page. A value that is out of bounds is replaced by the configured one. */
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

/** Completes the rule: values missing from the query are taken from the configuration. */
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
  project: z.string().optional().describe('Full path; absent if the project has no figures from the last 30 days.'),
  rule: ruleShape,
  pipelines: z.number().describe('Number of stored pipelines that were read.'),
  backTo: millis.optional(),
  found: z.array(regressionShape),
})
export type ShownPreview = Shaped<typeof previewShape>

/** A project by its ID, and by its instance if several instances have a project with this ID. */
export interface PreviewedProject {
  readonly projectId: number
  readonly instance?: string | undefined
}

/** Returns an empty preview for a hidden project, and for a project without figures from the last 30 days. Reads a limited number of pipelines. */
export async function previewOf(
  parts: Pick<PagesSources, 'on' | 'now'>,
  { projectId, instance }: PreviewedProject,
  rule: ShownRule,
  options: RegressionOptions,
): Promise<ShownPreview> {
  const now = parts.now()
  const judging = parts.on(judgingOn)
  const project = (await judging.projects(now - 30 * day)).find(
    one => one.projectId === projectId && (instance === undefined || one.instance === instance),
  )
  if (project === undefined) return { pipelines: 0, rule, found: [] }
  const { found, pipelines, backTo } = await judgeProject(judging, project, now, {
    rule: ruleOf({ ...rule, slowerBy: rule.slowerBy * 1_000 }),
    sections: sectionsRead(options) === 'all',
    everything: true,
  })
  const documents = oneOfEach(found).flatMap(group => {
    const { main } = group
    const document = documentOf(group, likelyCause(main), main.episode.flagged.at)
    return document === undefined ? [] : shown(withResolution(document, main))
  })
  return {
    ...{ project: project.project, rule, pipelines, backTo },
    found: documents.sort((a, b) => b.first.at - a.first.at),
  }
}
