// Tests MCP tool calls during a failure of the daemon, and the configuration of MCP.
import { expect, it } from 'vitest'
import { apiRoutes } from '../../../src/console/api/api.ts'
import { createToolCalls, type ToolCalls } from '../../../src/features/mcp/tool-calls.ts'
import { tools } from '../../../src/features/mcp/tools.ts'
import { faults } from '../../daemon/configuration/given.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { consoleParts, noParts } from '../../support/console-parts.ts'

function callsOf(handle: () => Promise<unknown>): ToolCalls {
  const routes = apiRoutes(noParts, { adminToken: () => undefined }, consoleParts).map(route => ({
    ...route,
    handle,
  }))
  return createToolCalls(tools, routes, silentLog())
}

it("hides the cause of a failed call from the MCP client, and refers to the daemon's log for it", async () => {
  const calls = callsOf(async () => Promise.reject(new Error('disk I/O error at /var/lib/pipespan')))
  const [found] = (await calls.call('failed_pipelines', {})).content
  expect(found).toMatchObject({
    text: 'The daemon could not answer. Call again later; the reason is in the log of the daemon.',
  })
})

it('rejects a configuration with MCP on and pages off', () => {
  expect(faults({ PIPESPAN_WEBHOOK_TOKEN: 'x' }, 'mcp: true\npages: { enabled: false }')).toEqual([
    expect.stringContaining('Turn on pages.enabled (PIPESPAN_PAGES), or remove mcp'),
  ])
})
