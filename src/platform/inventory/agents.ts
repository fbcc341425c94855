// Collects cluster agents and their tokens. An agent is out of contact if none of its tokens has been used for a long time (REST document, "Cluster
// agents").
import { z } from 'zod'
import { maybe, wireId, wireText, wireTime } from '../rest/wire-field.ts'
import { collector, minute, since, unless } from './collector.ts'

const agent = z.object({ id: wireId, name: maybe(wireText) })
const listedToken = z.object({ id: wireId, status: maybe(wireText) })
/** A single token as the API returns it. Listed tokens lack the time of last use, so each token is requested by its ID. */
const token = z.object({ last_used_at: maybe(wireTime) })

const agentName = 'platform.agent.name'

export const agents = collector({
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
  role: 'Developer',
  read: async ({ ask, path }) => {
    const { items, left } = await ask.all(`${path}/cluster_agents`, agent)
    const known: { readonly name: string; readonly uses: readonly number[] }[] = []
    for (const { id, name = String(id) } of items) {
      const own = `${path}/cluster_agents/${id}/tokens`
      const tokens = await unless(['not-found'], ask.all(own, listedToken))
      if (tokens === undefined) continue
      const uses: number[] = []
      for (const { id: tokenId } of tokens.items.filter(({ status }) => status !== 'revoked')) {
        const answer = await unless(['not-found'], ask.one(`${own}/${tokenId}`, token))
        if (answer !== undefined) uses.push(answer.last_used_at ?? 0)
      }
      known.push({ name, uses })
    }
    return { known, omitted: left }
  },
  metrics: [
    {
      ...{ name: 'platform.agent.count', unit: '{agent}' },
      description: 'Cluster agents that are registered in the project.',
      points: ({ known, omitted }) => [[known.length + omitted]],
    },
    {
      ...{ name: 'platform.agent.token.count', unit: '{token}', attributes: [agentName] },
      description: 'Active tokens of the agent.',
      points: ({ known }) => known.map(({ name, uses }) => [uses.length, name]),
    },
    {
      ...{ name: 'platform.agent.token.last_used', unit: 's', attributes: [agentName] },
      description: 'Time since a token of the agent was last used: how long the agent has been out of contact.',
      points: ({ known }) => known.map(({ name, uses }) => [since(Math.max(0, ...uses) || undefined), name]),
    },
  ],
})
