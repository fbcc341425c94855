// Tests that the pages and schemas that are generated from tables in the code are up to date. `npm run docs` regenerates them.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { apiRoutes } from '../src/console/api/api.ts'
import { attributesReference } from '../scripts/docs/attributes.ts'
import { operatorReference } from '../src/console/access/operator-event.ts'
import { chartReadme, chartSchema, chartSecrets } from '../scripts/docs/chart.ts'
import { eventsReference } from '../scripts/docs/events.ts'
import { hookMetrics } from '../src/core/find/hook-gauges.ts'
import { consoleParts, noParts } from './support/console-parts.ts'
import { features } from '../src/features.ts'
import { jsonSchema } from '../scripts/docs/json-schema.ts'
import { metricsReference } from '../scripts/docs/metrics.ts'
import { countedMetrics, ownMetrics } from '../src/daemon/own-telemetry/table.ts'
import { openApi } from '../src/console/api/openapi.ts'
import { profiles } from '../src/daemon/profile.ts'
import { reference } from '../scripts/docs/options.ts'
import { version } from '../src/lib/version.ts'

const ofChart = (file: string): string =>
  readFileSync(path.join(import.meta.dirname, '../deploy/helm/pipespan', file), 'utf8')

const gauges = [{ switch: 'watch_hooks', metrics: hookMetrics }, ...features.flatMap(one => one.gauges ?? [])]

const figures = features.flatMap(({ figures: tables = [], projectMetrics, insides }) => [
  ...(insides?.metrics ?? []),
  ...tables.flatMap(({ rows }) => rows),
  ...(projectMetrics?.heads ?? []),
])

type Generated = readonly [file: string, content: () => string]

interface Reference {
  readonly pages?: readonly Generated[]
  /** Returns the feature's section of docs/EVENTS.md. */
  readonly events?: () => string
  /** Returns the feature's section of docs/ATTRIBUTES.md. */
  readonly attributes?: () => string
}

/** The exports of each feature's `test/features/NAME/reference.ts`. */
const ofFeatures = await Promise.all(
  features.map(async ({ name }): Promise<Reference> => {
    const file = path.join(import.meta.dirname, 'features', name, 'reference.ts')
    return existsSync(file) ? ((await import(file)) as Reference) : {}
  }),
)

const generated: readonly Generated[] = [
  ['config/REFERENCE.md', () => reference(profiles)],
  ['config/pipespan.schema.json', () => `${JSON.stringify(jsonSchema(profiles), null, 2)}\n`],
  [
    'docs/ATTRIBUTES.md',
    () =>
      attributesReference(
        profiles,
        ofFeatures.flatMap(one => one.attributes?.() ?? []),
      ),
  ],
  [
    'docs/openapi.json',
    () =>
      `${JSON.stringify(openApi(apiRoutes(noParts, { adminToken: () => undefined }, consoleParts), version), null, 2)}\n`,
  ],
  [
    'docs/EVENTS.md',
    () => {
      const added = ofFeatures.flatMap(({ events }) => events?.() ?? [])
      return `${[eventsReference().trimEnd(), ...added, operatorReference()].join('\n\n')}\n`
    },
  ],
  ['docs/METRICS.md', () => metricsReference([...ownMetrics, ...countedMetrics(features)], gauges, figures)],
  ['deploy/helm/pipespan/files/secrets.yaml', () => chartSecrets(profiles)],
  ['deploy/helm/pipespan/values.schema.json', () => chartSchema(ofChart('values.schema.json'), profiles)],
  ['deploy/helm/pipespan/README.md', () => chartReadme(ofChart('values.yaml'))],
]

it.each([...generated, ...ofFeatures.flatMap(({ pages = [] }) => pages)])(
  'ships %s exactly as it is generated from the code',
  async (file, content) => {
    await expect(content()).toMatchFileSnapshot(`../${file}`)
  },
)
