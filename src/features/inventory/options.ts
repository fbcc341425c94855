// The inventory options: one list for each collector, and the operator's own queries. Also validates each query as a whole, because some rules
// involve more than one of its values.
import { attributes } from '../../daemon/configuration/pair-kinds.ts'
import { collectors } from '../../platform/inventory/collectors.ts'
import { duration, metricName, text } from '../../daemon/configuration/plain-kinds.ts'
import { Each, setting, type Option } from '../../daemon/configuration/option.ts'
import { list } from '../../daemon/configuration/list-kinds.ts'
import { maxQueryBytes, queryText } from '../../platform/inventory/query.ts'
import { platformsOf, type Config, type SliceOf } from '../../daemon/feature.ts'
import { projectName, projectNames } from '../../daemon/configuration/project-kinds.ts'
import type { ConfigFault, FaultOf } from '../../daemon/configuration/config-fault.ts'

const inventory: Readonly<Record<string, Option<readonly string[] | undefined>>> = Object.fromEntries(
  collectors.map(({ kind, of, hasInstance = false, description, every, requests, role }) => [
    kind,
    setting(projectNames(hasInstance ? { or: '*' } : {}), {
      ofPlatform: true,
      example: of === 'groups' ? 'team' : 'team/shop,4711',
    }).describe(
      `${description} List of ${of}: IDs or full paths${hasInstance ? '; `*`: the whole instance' : ''}. Requests for each: ${requests}, every ${duration.show(every)}. Role: ${role}.`,
    ),
  ]),
)

const queries = new Each(
  {
    metric: setting(metricName, { required: true }).describe('Name of the gauge.'),
    query: setting(text, { required: true }).describe(
      "The query, in the platform's query language (GLQL): at most 10,000 bytes, including its scope and fields.",
    ),
    platform: setting(text, { unset: 'the platform of the `platform` settings' }).describe(
      'Name of the platform to query, one of `platforms`.',
    ),
    project: setting(projectName).describe('Full path of the project to query.'),
    group: setting(projectName).describe('Full path of the group to query; cannot be combined with `project`.'),
    value: setting(text, { default: 'count' }).describe(
      '`count`: the number of results. Otherwise a numeric field: one point per row of the result.',
    ),
    fields: setting(list).describe('Additional fields of each row, exported as attributes `platform.query.NAME`.'),
    attributes: setting(attributes).describe('Attributes of every point.'),
    every: setting(duration, { default: '5m' }).describe('Interval, at least 60s. One request each time.'),
  },
  'Platform queries (GLQL) exported as gauges. The interval doubles after each failure, up to a day; `pipespan config check --online` runs each query once.',
)

export const inventoryOptions = { Inventory: { inventory, queries } }

export type InventoryOptions = SliceOf<typeof inventoryOptions>

const minInterval = 60_000

export function* wrongQueries(config: InventoryOptions & Config, faultOf: FaultOf): Generator<ConfigFault> {
  const platforms = platformsOf(config)
  const series = new Set<string>()
  for (const [index, query] of config.queries.entries()) {
    const fault: FaultOf = (key, what, remedy) => faultOf(`queries[${index}].${key}`, what, remedy)
    const { metric, platform, project, group, every, value, fields = [], attributes = {} } = query
    const own = JSON.stringify([platform, metric, project, group, Object.entries(attributes).sort()])
    const isAgain = series.has(own)
    series.add(own)
    const bytes = Buffer.byteLength(queryText({ ...query, fields }))
    if (bytes > maxQueryBytes) {
      const what = `The query has ${bytes} bytes as it is sent; the platform accepts at most ${maxQueryBytes}.`
      yield fault('query', what, 'Shorten it, or divide it into several queries.')
    }
    if (every < minInterval) yield fault('every', 'A query can run at most once a minute.', 'Write 60s or more.')
    if (project !== undefined && group !== undefined)
      yield fault('group', 'A query needs either a project or a group.', 'Remove one of them.')
    if (value === 'count' && fields.length > 0)
      yield fault('fields', 'A count has no fields.', 'Set `value` to a numeric field, or remove `fields`.')
    if (isAgain) {
      const remedy = 'Use a different name or different attributes for one of them.'
      yield fault('metric', 'Another query reports the same series.', remedy)
    }
    if (platform === undefined && !platforms.includes('default'))
      yield fault('metric', 'The query names no platform.', 'Set `platform` to the name of one of `platforms`.')
    if (platform !== undefined && !platforms.includes(platform))
      yield fault('platform', `There is no platform ${platform}.`, `Name one of ${platforms.join(', ')}.`)
  }
}
