// Checks across the settings of the queries.
import type { ConfigFault, FaultOf } from './config-fault.ts'
import type { Config } from './options.ts'
import type { ProfileVariables } from './option.ts'

const shortest = 60_000

export function* wrongQueries(
  { queries }: Config,
  faultOf: FaultOf,
  { queryText, maxQueryBytes }: ProfileVariables,
): Generator<ConfigFault> {
  const series = new Set<string>()
  for (const [index, query] of queries.entries()) {
    const fault: FaultOf = (key, what, remedy) => faultOf(`queries[${index}].${key}`, what, remedy)
    const { metric, project, group, every, value, fields = [], attributes = {} } = query
    const own = JSON.stringify([metric, project, group, Object.entries(attributes).sort()])
    const isAgain = series.has(own)
    series.add(own)
    const bytes = Buffer.byteLength(queryText({ ...query, fields }))
    if (bytes > maxQueryBytes) {
      const what = `The query has ${bytes} bytes as it is sent; the platform takes ${maxQueryBytes} at most.`
      yield fault('query', what, 'Shorten it, or divide it into several queries.')
    }
    if (every < shortest) yield fault('every', 'A query can run at most once a minute.', 'Write 60s or more.')
    if (project !== undefined && group !== undefined)
      yield fault('group', 'A query needs either a project or a group.', 'Remove one of them.')
    if (value === 'count' && fields.length > 0)
      yield fault('fields', 'A count has no fields.', 'Set `value` to a numeric field, or remove `fields`.')
    if (isAgain) {
      const remedy = 'Use a different name or different attributes for one of them.'
      yield fault('metric', 'Another query reports the same series.', remedy)
    }
  }
}
