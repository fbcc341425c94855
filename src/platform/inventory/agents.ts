// Cluster agents and their tokens: an agent whose tokens were not used for long has lost contact (REST document, "Cluster agents").
import { z } from 'zod'
import { maybe, wireId, wireText, wireTime } from '../rest/wire-field.ts'
import { minute, pathOf, point, type Collector } from './collector.ts'
import { PlatformError } from '../port.ts'
import type { CollectedPoint } from '../../model/inventory.ts'

const agent = z.object({ id: wireId, name: maybe(wireText) })
const listedToken = z.object({ id: wireId, status: maybe(wireText) })
/** Only the answer about a single token has the time of its last use. */
const token = z.object({ last_used_at: maybe(wireTime) })

const agentName = 'platform.agent.name'

export const agents: Collector = {
  kind: 'agents',
  of: 'projects',
  description: 'Cluster agents, and how long each has been out of contact.',
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
    const { items, left } = await ask.all(path, agent)
    let gone = 0
    const points: CollectedPoint[] = []
    for (const { id, name = String(id) } of items) {
      const attributes = { [agentName]: name }
      const listed = await unlessGone(ask.all(`${path}/${id}/tokens`, listedToken))
      if (listed === undefined) {
        gone += 1
        continue
      }
      const used: (number | undefined)[] = []
      for (const one of listed.items.filter(({ status }) => status !== 'revoked')) {
        const found = await unlessGone(ask.one(`${path}/${id}/tokens/${one.id}`, token))
        if (found !== undefined) used.push(found.last_used_at)
      }
      points.push(point('platform.agent.token.count', used.length, attributes))
      const since = Math.max(...used.map(at => at ?? 0))
      if (since > 0) points.push(point('platform.agent.token.last_used', { since }, attributes))
    }
    return { points: [point('platform.agent.count', items.length + left - gone), ...points], omitted: left }
  },
}

/** An agent may be deleted, and a token revoked, while the others are asked about: it then answers 404. */
async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'not-found') return undefined
    throw error
  }
}
