// Checks across the settings of the queries.
import type { ConfigFault, FaultOf } from './config-fault.ts'
import type { Config } from './options.ts'
import type { ProfileVariables } from './option.ts'

const shortest = 60_000

export function wrongQueries(
  { queries }: Config,
  faultOf: FaultOf,
  { queryText, maxQueryBytes }: ProfileVariables,
): ConfigFault[] {
  const series = new Set<string>()
  return queries.flatMap((query, index) => {
    const fault: FaultOf = (key, what, remedy) => faultOf(`queries[${index}].${key}`, what, remedy)
    const { metric, project, group, every, value, fields = [], attributes = {} } = query
    const own = JSON.stringify([metric, project, group, Object.entries(attributes).sort()])
    const isAgain = series.has(own)
    series.add(own)
    const bytes = Buffer.byteLength(queryText({ ...query, fields }))
    return [
      ...(bytes > maxQueryBytes
        ? [
            fault(
              'query',
              `The query has ${bytes} bytes as it is sent; the platform takes ${maxQueryBytes} at most.`,
              'Shorten it, or divide it into several queries.',
            ),
          ]
        : []),
      ...(every < shortest ? [fault('every', 'A query can run at most once a minute.', 'Write 60s or more.')] : []),
      ...(project !== undefined && group !== undefined
        ? [fault('group', 'A query needs either a project or a group.', 'Remove one of them.')]
        : []),
      ...(value === 'count' && fields.length > 0
        ? [fault('fields', 'A count has no fields.', 'Set `value` to a numeric field, or remove `fields`.')]
        : []),
      ...(isAgain
        ? [
            fault(
              'metric',
              'Another query reports the same series.',
              'Use a different name or different attributes for one of them.',
            ),
          ]
        : []),
    ]
  })
}
