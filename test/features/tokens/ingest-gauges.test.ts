// Tests the gauges of the ingest tokens against an observability instance.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { good } from '../../daemon/configuration/given.ts'
import { ingestGauges } from '../../../src/features/tokens/ingest-gauges.ts'
import { instanceOf } from '../../../src/features/tokens/asked-instance.ts'
import type { TokenOptions } from '../../../src/features/tokens/options.ts'
import { startInstance } from '../../support/observability-instance.ts'

it('reports whether a token is required, the number of tokens, and the creation time of each', async () => {
  const instance = closeAfterTest(await startInstance({ enforcement: true, times: true }))
  instance.add('ci')
  instance.add('cluster')
  const { config } = good({
    PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token',
    PIPESPAN_OBSERVABILITY_URL: instance.url,
    PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey,
  })
  const points = await instanceOf(config as typeof config & TokenOptions, {})?.(ingestGauges)
  const age = (name: string) => ({
    metric: 'platform.ingest.token.age',
    attributes: { 'platform.ingest.token.name': name },
    value: { since: expect.any(Number) as number },
  })
  expect(points).toEqual([
    { metric: 'platform.ingest.enforced', attributes: {}, value: 1 },
    { metric: 'platform.ingest.token.count', attributes: {}, value: 2 },
    age('ci'),
    age('cluster'),
  ])
})

it('sends no request if no key of the instance is configured', () => {
  const { config } = good({ PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token' })
  expect(instanceOf(config as typeof config & TokenOptions, {})).toBeUndefined()
})
