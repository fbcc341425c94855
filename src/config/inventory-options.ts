// The options of what the platform is asked about from time to time: one list for each collector, and queries of the user's own.
import { attributes } from './pair-kinds.ts'
import { duration, metricName, text } from './plain-kinds.ts'
import { Each, setting, type Option, type Profiles } from './option.ts'
import { list } from './list-kinds.ts'

type Lists = Readonly<Record<string, Option<readonly string[] | undefined>>>

/** The collectors bring the keys, and what is said of each. */
export function inventoryOptions(profiles: Profiles): Lists {
  const kinds = new Map(
    Object.values(profiles).flatMap(({ inventory }) => inventory.map(one => [one.kind, one] as const)),
  )
  return Object.fromEntries(
    [...kinds.values()].map(({ kind, of, says, every, requests, role }) => [
      kind,
      setting(list, {
        variable: `PIPESPAN_INVENTORY_${kind.toUpperCase()}`,
        says: `${says} Of these ${of}: ids or full paths. Requests for each: ${requests}, every ${duration.show(every)}. Role: ${role}.`,
        example: of === 'groups' ? 'team' : 'team/shop,4711',
      }),
    ]),
  )
}

export const queryOptions = new Each(
  {
    metric: setting(metricName, { required: true, says: 'Name of the gauge.' }),
    query: setting(text, { required: true, says: "The query, in the platform's query language." }),
    project: setting(text, { says: 'Full path of the project that is asked about.' }),
    group: setting(text, { says: 'Full path of the group that is asked about; not beside `project`.' }),
    value: setting(text, {
      default: 'count',
      says: '`count`: how many there are. Else the field whose number is the value: one point for each row of the answer.',
    }),
    fields: setting(list, {
      says: 'More fields of each row: they become attributes, `platform.query.` and their names.',
    }),
    attributes: setting(attributes, { says: 'Attributes of every point.' }),
    every: setting(duration, { default: '5m', says: 'From one time to the next, at least 60s. One request each.' }),
  },
  'Queries of the platform (GLQL) as gauges. One that fails is put off twice as long each time, a day at most; `pipespan config check --online` tries each once.',
)
