// Tests the dashboards for gitlab-ci-pipelines-exporter: a real Prometheus scrapes the daemon, and each dashboard query returns data.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { gcpeOthers, gcpeQueries } from './dashboard-queries.ts'
import { hasPrometheus, startPrometheus } from '../../support/prometheus.ts'
import { openHouse } from '../../console/house.ts'
import { withTests } from '../../console/read-insides.ts'

it.skipIf(!hasPrometheus)(
  "returns data for every query of gitlab-ci-pipelines-exporter's published dashboards",
  async () => {
    const house = closeAfterTest(
      await openHouse({
        PIPESPAN_METRICS_COMPAT: 'gcpe',
        PIPESPAN_TESTS: 'true',
        PIPESPAN_PLATFORM_URL: 'http://127.0.0.1:9',
        PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
      }),
    )
    await house.live(['retried', 'family', 'release', 'canceled', 'mergeRequest', 'nightly'])
    await withTests(house.daemon.store)
    const prometheus = await startPrometheus(house.url)
    await prometheus.until('count(sum_over_time(up[1m]) > 3)', 1)
    const unanswered = async (): Promise<string[]> => {
      const asked = [...gcpeQueries, ...gcpeOthers].map(async query =>
        (await prometheus.count(query)) > 0 ? [] : [query],
      )
      return (await Promise.all(asked)).flat()
    }
    // On a busy machine a scrape may fail, and then there are no series until the next one.
    await expect.poll(unanswered, { interval: 1_000 }).toEqual([])
  },
)
if (!hasPrometheus) process.stderr.write('Prometheus is not installed: the queries for gcpe are not asked here.\n')
