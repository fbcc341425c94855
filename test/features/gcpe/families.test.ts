// The metrics in both formats of `/metrics`.
import { expect, it } from 'vitest'
import { createGcpeFamilies } from '../../../src/features/gcpe/families.ts'
import { expositionText } from '../../daemon/listeners/metrics-pages.ts'
import { gcpeRunMetrics } from '../../../src/features/gcpe/table.ts'
import { wholeMetrics, type Exposition } from '../../../src/daemon/listeners/exposition.ts'

it('keeps the names of counters of other programs, whose type OpenMetrics does not know then', async () => {
  const families = createGcpeFamilies(10)
  families.add(gcpeRunMetrics, { project: 'acme/shop', kind: 'branch', ref: 'main', source: 'push', runs: 3 })
  const labels = 'project="acme/shop",topics="",kind="branch",ref="main",source="push",variables=""'
  const linesOf = async (format: Exposition): Promise<string[]> =>
    (await expositionText(wholeMetrics(families.scopes()), format)).split('\n').slice(1, 3)
  const sample = `gitlab_ci_pipeline_run_count{${labels}} 3`
  expect(await linesOf('text')).toEqual(['# TYPE gitlab_ci_pipeline_run_count counter', sample])
  expect(await linesOf('openmetrics')).toEqual(['# TYPE gitlab_ci_pipeline_run_count unknown', sample])
})
