// The options of metrics: interval, series, buckets, scraping.
import { boolean, duration, integer, oneOf } from './plain-kinds.ts'
import { z } from 'zod'
import { itemsOf, patterns } from './list-kinds.ts'
import { kind, refusing } from './kind.ts'
import type { Wrong } from './config-fault.ts'
import { setting } from './option.ts'

const boundsRemedy = 'Write seconds above 0 in ascending order, such as 1,10,60,600.'

/** Upper bounds of histogram buckets, seconds, ascending. */
const bounds = kind<readonly number[]>(
  itemsOf().pipe(
    z.array(z.string().transform(Number).pipe(z.number().positive())).nonempty().superRefine(refusing(notAscending)),
  ),
  { noun: 'a list of bounds', item: 'a bound', remedy: boundsRemedy },
)

function notAscending(bounds: readonly number[]): Wrong | undefined {
  const low = bounds.find((bound, at) => bound <= (bounds[at - 1] ?? 0))
  return low === undefined ? undefined : { what: `${low} is not above the bound before it.`, remedy: boundsRemedy }
}

export const temporality = oneOf(['cumulative', 'delta', 'lowmemory'])

export const metricOptions = {
  interval: setting(duration, { default: '60s' }).describe('How often cumulative metrics are sent.'),
  refs: setting(patterns, { unset: 'every ref; merge requests as one', example: 'main,release/*' }).describe(
    'Refs that keep their own metric series: `all`, including merge requests; `default`, only the default branch; or patterns. All others share the value `*`.',
  ),
  histogramBounds: setting(bounds, { default: '1,5,10,30,60,300,600,1800,3600' }).describe(
    'Upper bounds of duration buckets in seconds. New bounds start new totals.',
  ),
  maxSeries: setting(integer({ min: 2, max: 1_000_000 }), { default: '2000' }).describe(
    'Maximum number of series per metric and project; further ones share the series `otel.metric.overflow`.',
  ),
  scrapeMaxSeries: setting(integer({ min: 1, max: 100_000_000 }), { default: '500000' }).describe(
    'Maximum number of series of pipelines on `/metrics`, of all metrics and projects together; each bucket of a histogram is one. Gauges come first, then counters, then histograms: further ones are left out and counted (`pipespan.scrape.left_out`).',
  ),
  open: setting(boolean, { default: 'false' }).describe(
    'Serve `/metrics` on the admin listener without the admin token and under any host name.',
  ),
}

/** In the group of metrics, but under a name of its own. */
export const jobMetricsOption = setting(oneOf(['default-branch', 'all', 'off']), {
  default: 'default-branch',
}).describe(
  'Pipelines whose jobs have a duration metric by name: those of the default branch, all, or none. At most 200 names per project; further ones share `*`.',
)
