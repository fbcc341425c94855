// All metrics of one scrape.
import { createGcpeFamilies } from './families.ts'
import { createNewestDeployments } from './environments.ts'
import { createNewestPipelines } from './pipelines.ts'
import type { CountBehind } from './behind-counts.ts'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { ScrapeView } from '../../daemon/feature.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

export function createScrape(
  store: Pick<SharedStore, 'on' | 'repositories'>,
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
  // Scrapes at the same time share one: rows that two of them read would be counted twice.
  let running: ReturnType<typeof scrape> | undefined
  return async () =>
    (running ??= scrape().finally(() => {
      running = undefined
    }))
}
