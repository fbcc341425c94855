// Limits the names of metrics in the reports of a project, first come, first served: a name that contains a commit hash would be a new metric in
// every pipeline, and totals are stored permanently.
import type { ReportedMetric } from '../model/job-reports.ts'
import type { Repositories } from '../store/ports/repository.ts'

/** Names of one project. */
const maxReportedNames = 50

/** The metrics whose name is known, or for which there is still room. */
export async function namesWithin(
  names: Repositories['reportedNames'],
  key: { readonly instance: string; readonly project: number },
  metrics: readonly ReportedMetric[],
): Promise<readonly ReportedMetric[]> {
  const wanted = new Set(metrics.map(({ name }) => name))
  const before = new Set((await names.get(key))?.names)
  const isNew = [...wanted].some(name => !before.has(name))
  if (!isNew || before.size >= maxReportedNames) return metrics.filter(({ name }) => before.has(name))
  const known = await names.change(key, document => {
    const all = [...new Set([...(document?.names ?? []), ...wanted])].slice(0, maxReportedNames)
    return { document: { ...key, names: all }, result: new Set(all) }
  })
  return metrics.filter(({ name }) => known.has(name))
}
