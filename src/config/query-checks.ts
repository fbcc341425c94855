// What the settings of a query must say together.
import type { ConfigFault, Source } from './config-fault.ts'
import type { Config } from './options.ts'

const shortest = 60_000

export function wrongQueries({ queries }: Config, sources: ReadonlyMap<string, Source>): ConfigFault[] {
  const series = new Set<string>()
  return queries.flatMap((query, index) => {
    const fault = (key: string, what: string, remedy: string): ConfigFault => {
      const setting = `queries[${index}].${key}`
      return { setting, source: sources.get(setting) ?? { from: 'default' }, what, remedy }
    }
    const { metric, project, group, every, value, fields = [], attributes = {} } = query
    const own = JSON.stringify([metric, project, group, Object.entries(attributes).sort()])
    const isAgain = series.has(own)
    series.add(own)
    return [
      ...(every < shortest
        ? [fault('every', 'A query may be asked once a minute at most.', 'Write 60s or more.')]
        : []),
      ...(project !== undefined && group !== undefined
        ? [fault('group', 'A query is about a project or about a group.', 'Take one of them out.')]
        : []),
      ...(value === 'count' && fields.length > 0
        ? [fault('fields', 'A count has no fields.', 'Name the field of the value in `value`, or take `fields` out.')]
        : []),
      ...(isAgain
        ? [
            fault(
              'metric',
              'Another query reports the same series.',
              'Give one of them another name, or other attributes.',
            ),
          ]
        : []),
    ]
  })
}
