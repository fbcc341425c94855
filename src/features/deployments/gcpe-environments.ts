// The newest deployment of each environment for the metrics of gcpe, beside those of pipelines (`core/send/gcpe-metrics.ts`).
import { createNewest } from '../../core/send/newest.ts'
import { environmentOf, type CountBehind } from './latest-environment.ts'
import { gcpeEnvironmentMetrics } from '../../core/telemetry/mapping/gcpe.ts'
import { maxRefs, ownerOf, storedCounts, type GcpeSource } from '../../core/send/gcpe-metrics.ts'
import type { LatestDeployments, ListedDeployment } from './sql/latest-deployments.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'
import type { Scope } from '../../core/store/ports/scope.ts'

export interface GcpeEnvironmentsOptions {
  readonly latest: LatestDeployments
  readonly countedRows: Repositories['countedRows']
  /** What readers see. */
  readonly scope: Scope
  /** Undefined: how many commits an environment is behind is only known where it is not behind. */
  readonly countBehind?: CountBehind | undefined
}

/** Rows of one statement. */
const rowsPerRead = 200

export function createGcpeEnvironments({
  latest,
  countedRows,
  scope,
  countBehind,
}: GcpeEnvironmentsOptions): GcpeSource {
  const deployments = createNewest<ListedDeployment>({
    read: async (after, limit) => latest.after(after, limit),
    placeOf: ({ environment, ...row }) =>
      environment === undefined ? undefined : { owner: ownerOf(row), name: environment, counted: '' },
    rankOf: ({ at }) => at,
    // The environments of a project with the newest deployments.
    maxNames: maxRefs,
    counts: storedCounts(countedRows, 'deployments'),
  })
  return {
    add: async (families, runOf) => {
      await deployments.refresh()
      for (const [owner, rows] of deployments.all()) {
        for (let at = 0; at < rows.length; at += rowsPerRead) {
          const some = new Map(rows.slice(at, at + rowsPerRead).map(one => [one.row.id, one]))
          const found = await latest.byId([...some.keys()])
          for (const { name, row } of some.values())
            if (!found.some(({ id }) => id === row.id)) deployments.forget(owner, name)
          for (const one of found) {
            const counted = some.get(one.id)?.counts.get('') ?? 0
            const environment = environmentOf(one, counted, ref => runOf(owner, ref), countBehind)
            if (scope.sees({ instance: one.deployment.instance, path: environment.project }))
              families.add(gcpeEnvironmentMetrics, environment)
          }
        }
      }
    },
  }
}
