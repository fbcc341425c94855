// Pages and schemas that are made from tables in the code: `npm run docs` writes them, a drift fails here.
import { expect, it } from 'vitest'
import { attributesReference } from '../src/telemetry/reference.ts'
import { jsonSchema } from '../src/config/json-schema.ts'
import { metricsReference } from '../src/telemetry/metrics/reference.ts'
import { ownMetrics } from '../src/self/table.ts'
import { profiles } from '../src/platform/profile.ts'
import { reference } from '../src/config/reference.ts'

const generated: readonly [file: string, content: () => string][] = [
  ['config/REFERENCE.md', () => reference(profiles)],
  ['config/pipespan.schema.json', () => `${JSON.stringify(jsonSchema(profiles), null, 2)}\n`],
  ['docs/ATTRIBUTES.md', () => attributesReference(profiles)],
  ['docs/METRICS.md', () => metricsReference(ownMetrics)],
]

it.each(generated)('%s says what the code says', async (file, content) => {
  await expect(content()).toMatchFileSnapshot(`../${file}`)
})
