// Serves coding assistants over the Model Context Protocol on `/mcp`, if `PIPESPAN_MCP=true`. Each tool calls one route of the JSON API, so it only
// reads, and shows what the pages show. Read `tool-calls.ts` first: it turns a tool call into a route call, and bounds the response so that a model
// can read it (`bounded.ts`). `endpoint.ts` implements the protocol over HTTP. `tools.ts` has the tools for the core's routes; other features add
// their own (`ConsolePart.tools`).
import { boolean } from '../../daemon/configuration/plain-kinds.ts'
import { feature } from '../../daemon/feature.ts'
import { setting } from '../../daemon/configuration/option.ts'
import type { FastifyInstance } from 'fastify'

export const mcp = feature({
  name: 'mcp',
  options: {
    Pages: {
      mcp: setting(boolean, {
        default: 'false',
        needs: { 'pages.enabled': 'MCP is served together with the pages, which are off.' },
      }).describe(
        'Serve `/mcp` along with the pages: through the Model Context Protocol, programs such as coding assistants can read what the pages show, under the same access rules. They cannot change anything. See docs/agents.md.',
      ),
    },
  },
  console: async (options, { log }) => {
    if (!options.mcp) return { programs: registerDisabled }
    const { registerMcp } = await import('./endpoint.ts')
    return { programs: (app, asked) => registerMcp(app, asked, log) }
  },
})

function registerDisabled(app: FastifyInstance): void {
  const message = 'The MCP endpoint is off. Set PIPESPAN_MCP=true (mcp) and restart the daemon.'
  app.route({
    method: ['GET', 'POST'],
    url: '/mcp',
    config: { isCatchAll: true },
    handler: async (_request, reply) => reply.code(404).send({ message }),
  })
}
