// Cluster agents and their tokens: an agent whose tokens were not used for long has lost contact (REST document, "Cluster agents").
import { z } from 'zod'
import { maybe, wireId, wireText, wireTime } from '../rest/wire-field.ts'
import { minute, pathOf, point, type Collector } from './collector.ts'

const agent = z.object({ id: wireId, name: maybe(wireText) })
const listedToken = z.object({ id: wireId })
/** Only the answer about a single token has the time of its last use. */
const token = z.object({ last_used_at: maybe(wireTime) })

const agentName = 'platform.agent.name'

export const agents: Collector = {
  kind: 'agents',
  of: 'projects',
  says: 'Cluster agents, and how long each has been out of contact.',
  asks: [
    '/projects/:id/cluster_agents',
    '/projects/:id/cluster_agents/:agent_id/tokens',
    '/projects/:id/cluster_agents/:agent_id/tokens/:token_id',
  ],
  every: 5 * minute,
  requests: '1 + agents + tokens',
  atLeast: 1,
  role: 'Developer',
  metrics: [
    {
      name: 'platform.agent.count',
      ...{ unit: '{agent}', number: 'int', attributes: [] },
      description: 'Cluster agents that are registered in the project.',
    },
    {
      name: 'platform.agent.token.count',
      ...{ unit: '{token}', number: 'int', attributes: [agentName] },
      description: 'Active tokens of the agent.',
    },
    {
      name: 'platform.agent.token.last_used',
      ...{ unit: 's', number: 'double', attributes: [agentName] },
      description: 'Time since a token of the agent was last used: how long the agent has been out of contact.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const path = `${pathOf(owner)}/cluster_agents`
    const found = await ask.all(path, agent)
    const points = [point('platform.agent.count', found.length)]
    for (const { id, name = String(id) } of found) {
      const attributes = { [agentName]: name }
      const tokens = await ask.all(`${path}/${id}/tokens`, listedToken)
      points.push(point('platform.agent.token.count', tokens.length, attributes))
      const used: number[] = []
      for (const one of tokens) {
        const { last_used_at: at } = await ask.one(`${path}/${id}/tokens/${one.id}`, token)
        if (at !== undefined) used.push(at)
      }
      if (used.length > 0)
        points.push(point('platform.agent.token.last_used', { since: Math.max(...used) }, attributes))
    }
    return { points }
  },
}
