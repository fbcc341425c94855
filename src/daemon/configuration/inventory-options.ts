// The options of the inventory: one list for each collector, and the user's own queries.
import { attributes } from './pair-kinds.ts'
import { duration, metricName, text } from './plain-kinds.ts'
import { Each, setting, type Option, type Profiles } from './option.ts'
import { list } from './list-kinds.ts'
import { projectName, projectNames } from './project-kinds.ts'

type Lists = Readonly<Record<string, Option<readonly string[] | undefined>>>

/** The collectors, which the profiles bring, define the keys and their descriptions. */
export function inventoryOptions(profiles: Profiles): Lists {
  const kinds = new Map(
    Object.values(profiles).flatMap(({ inventory }) => inventory.map(one => [one.kind, one] as const)),
  )
  return Object.fromEntries(
    [...kinds.values()].map(({ kind, of, hasInstance = false, description, every, requests, role }) => [
      kind,
      setting(projectNames(hasInstance ? { or: '*' } : {}), {
        variable: `PIPESPAN_INVENTORY_${kind.toUpperCase()}`,
        description: `${description} List of ${of}: IDs or full paths${hasInstance ? '; `*`: the whole instance' : ''}. Requests for each: ${requests}, every ${duration.show(every)}. Role: ${role}.`,
        example: of === 'groups' ? 'team' : 'team/shop,4711',
      }),
    ]),
  )
}

export const queryOptions = new Each(
  {
    metric: setting(metricName, { required: true, description: 'Name of the gauge.' }),
    query: setting(text, {
      required: true,
      description:
        "The query, in the platform's query language (GLQL): with its scope and fields 10,000 bytes at most.",
    }),
    platform: setting(text, {
      unset: 'the platform of the `platform` settings',
      description: 'Name of the platform to query, one of `platforms`.',
    }),
    project: setting(projectName, { description: 'Full path of the project to query.' }),
    group: setting(projectName, { description: 'Full path of the group to query; cannot be combined with `project`.' }),
    value: setting(text, {
      default: 'count',
      description: '`count`: the number of results. Otherwise a numeric field: one point per row of the result.',
    }),
    fields: setting(list, {
      description: 'Additional fields of each row, exported as attributes `platform.query.NAME`.',
    }),
    attributes: setting(attributes, { description: 'Attributes of every point.' }),
    every: setting(duration, { default: '5m', description: 'Interval, at least 60s. One request each time.' }),
  },
  'Platform queries (GLQL) exported as gauges. The interval doubles after each failure, up to a day; `pipespan config check --online` runs each once.',
)
