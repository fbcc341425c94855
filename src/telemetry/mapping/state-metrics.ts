// Every gauge of what the platform is: what is asked from time to time and told as it was found last.
import type { MetricHead } from './metrics.ts'

export interface StateMetric extends MetricHead {
  readonly type: 'gauge'
  /** Names of the attributes of its points. */
  readonly attributes: readonly { readonly keys: readonly string[] }[]
}

const gauge = { type: 'gauge', number: 'int' } as const
const age = { type: 'gauge', number: 'double', unit: 's' } as const

/** Prettier would give each row eight lines; a table reads better with two. */
// prettier-ignore
export const stateMetrics: readonly StateMetric[] = [
  { name: 'platform.agent.count', ...gauge, unit: '{agent}', attributes: [], when: '`inventory.agents`',
    description: 'Cluster agents that are registered in the project.' },
  { name: 'platform.agent.token.count', ...gauge, unit: '{token}', attributes: named('platform.agent.name'), when: '`inventory.agents`',
    description: 'Active tokens of the agent.' },
  { name: 'platform.agent.token.last_used', ...age, attributes: named('platform.agent.name'), when: '`inventory.agents`; a token was used',
    description: 'Time since a token of the agent was last used: how long the agent has been out of contact.' },
]

function named(...names: readonly string[]): StateMetric['attributes'] {
  return names.map(name => ({ keys: [name] }))
}

/** Of a query of the user's own, which names its metric itself. */
export function queryMetric(name: string): StateMetric {
  return {
    name,
    ...gauge,
    number: 'double',
    unit: '1',
    attributes: [],
    when: '`queries`',
    description: 'Answer of a configured query.',
  }
}
