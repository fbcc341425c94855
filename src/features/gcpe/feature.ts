// Serves the metrics of another exporter of the platform's pipelines, gcpe, on `/metrics` (`PIPESPAN_METRICS_COMPAT`). Names, labels and types are
// those of gcpe, so its dashboards and alerts keep working during a migration. All values come from the store. Read `table.ts` first: it lists the
// metrics. A scrape shows the newest pipeline of each ref (`pipelines.ts`) and the newest deployment of each environment (`environments.ts`);
// `newest.ts` finds the newest row, and counts the rows that are added.
import { behindCountsOf, type CountBehind } from './behind-counts.ts'
import { createGcpeFamilies } from './families.ts'
import { createNewestDeployments } from './environments.ts'
import { createNewestPipelines } from './pipelines.ts'
import { feature, type ScrapeView } from '../../daemon/feature.ts'
import { oneOf } from '../../daemon/configuration/plain-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { SharedStore } from '../../core/store/ports/store.ts'

export const gcpe = feature({
  name: 'gcpe',
  needs: ['deployments'],
  options: {
    Metrics: {
      metrics: {
        compat: setting(oneOf(['off', 'gcpe']), { default: 'off' }).describe(
          'With `gcpe`, `/metrics` also has the metrics of the Prometheus exporter gcpe, with the same names and labels, so that its dashboards and alerts keep working.',
        ),
      },
    },
  },
  scraped: ({ metrics }, context, view) =>
    metrics.compat === 'gcpe' ? createScrape(context.store, view, behindCountsOf(context)) : undefined,
})

/** Returns the function that collects all metrics of one scrape. */
export function createScrape(
  store: Pick<SharedStore, 'on'>,
  view: ScrapeView,
  countBehind: CountBehind | undefined,
): () => Promise<readonly ScopeMetrics[]> {
  const pipelines = createNewestPipelines(store, view)
  const addDeployments = createNewestDeployments(store, view, pipelines.runOf, countBehind)
  const scrape = async (): Promise<readonly ScopeMetrics[]> => {
    const families = createGcpeFamilies(view.settings.maxSeries)
    await pipelines.addTo(families)
    await addDeployments(families)
    return families.scopes()
  }
  // Concurrent scrapes share one result, because rows that two scrapes read would be counted twice.
  let running: ReturnType<typeof scrape> | undefined
  return async () =>
    (running ??= scrape().finally(() => {
      running = undefined
    }))
}
