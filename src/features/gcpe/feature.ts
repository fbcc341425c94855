// The metrics of another exporter of the platform's pipelines, gcpe, on `/metrics` (`PIPESPAN_METRICS_COMPAT`): with its names, labels and types, so that
// its dashboards and alerts keep working while somebody changes over. They come from the store alone. Read `table.ts` first: all metrics. A scrape shows
// the newest pipeline of each ref (`pipelines.ts`) and the newest deployment of each environment (`environments.ts`); `newest.ts` finds the newest, and
// counts the rows.
import { behindCountsOf } from './behind-counts.ts'
import { createScrape } from './scrape.ts'
import { feature } from '../../daemon/feature.ts'
import { oneOf } from '../../daemon/configuration/plain-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'

export const gcpe = feature({
  name: 'gcpe',
  needs: ['deployments'],
  options: {
    Metrics: {
      metrics: {
        compat: setting(oneOf(['off', 'gcpe']), { default: 'off' }).describe(
          'With `gcpe`, `/metrics` also has the metrics of the Prometheus exporter of that name, with its names and labels, so that its dashboards and alerts keep working.',
        ),
      },
    },
  },
  scraped: ({ metrics }, context, view) =>
    metrics.compat === 'gcpe' ? createScrape(context.store, view, behindCountsOf(context)) : undefined,
})
