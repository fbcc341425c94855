// Collects cluster agents and their tokens. An agent has lost contact if none of its tokens was used for long (REST document, "Cluster agents").
import { z } from 'zod'
import { maybe, wireId, wireText, wireTime } from '../rest/wire-field.ts'
import { minute, pathOf, point, unless, type Collector } from './collector.ts'
import type { CollectedPoint } from '../../model/inventory.ts'

const agent = z.object({ id: wireId, name: maybe(wireText) })
const listedToken = z.object({ id: wireId, status: maybe(wireText) })
/** A token that is requested by its ID. Listed tokens lack the time of last use. */
const token = z.object({ last_used_at: maybe(wireTime) })

const agentName = 'platform.agent.name'

export const agents: Collector = {
  kind: 'agents',
  of: 'projects',
  description: 'Cluster agents, and how long each has been out of contact.',
  paths: [
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
    const { items, left } = await ask.all(path, agent)
    let deleted = 0
    const points: CollectedPoint[] = []
    for (const { id, name = String(id) } of items) {
      const attributes = { [agentName]: name }
      const listed = await unless(['not-found'], ask.all(`${path}/${id}/tokens`, listedToken))
      if (listed === undefined) {
        deleted += 1
        continue
      }
      const lastUses: (number | undefined)[] = []
      for (const { id: tokenId } of listed.items.filter(({ status }) => status !== 'revoked')) {
        const answer = await unless(['not-found'], ask.one(`${path}/${id}/tokens/${tokenId}`, token))
        if (answer !== undefined) lastUses.push(answer.last_used_at)
      }
      points.push(point('platform.agent.token.count', lastUses.length, attributes))
      const since = Math.max(...lastUses.map(at => at ?? 0))
      if (since > 0) points.push(point('platform.agent.token.last_used', { since }, attributes))
    }
    return { points: [point('platform.agent.count', items.length + left - deleted), ...points], omitted: left }
  },
}
