// Calls of MCP tools when the daemon is busy, and when it fails.
import { expect, it } from 'vitest'
import { apiRoutes } from '../../src/pages/api/api.ts'
import { createToolCalls, type ToolCalls } from '../../src/pages/mcp/tool-calls.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { PagesParts } from '../../src/pages/ports.ts'

function callsOf(handle: () => Promise<unknown>): ToolCalls {
  const routes = apiRoutes({} as PagesParts, { adminToken: () => undefined }).map(route => ({ ...route, handle }))
  return createToolCalls(routes, silentLog())
}

it('runs four calls at a time, lets 32 wait, and asks others to come again', async () => {
  const { promise, resolve } = Promise.withResolvers<object>()
  let begun = 0
  const calls = callsOf(async () => {
    begun += 1
    return promise
  })
  const asked = Array.from({ length: 36 }, async () => calls.call('regressions', {}))
  const refused = {
    isError: true,
    content: [{ text: 'Too many calls wait for their answers. Call again in a few seconds.' }],
  }
  expect(await calls.call('regressions', {})).toMatchObject(refused)
  expect(begun).toBe(4)
  resolve({ regressions: [] })
  for (const answer of await Promise.all(asked)) expect(answer.structuredContent).toEqual({ regressions: [] })
  expect(await calls.call('regressions', {})).toMatchObject({ structuredContent: { regressions: [] } })
})

it('does not show the reason of a failure, and says where it is', async () => {
  const calls = callsOf(async () => Promise.reject(new Error('disk I/O error at /var/lib/pipespan')))
  const [found] = (await calls.call('cost', {})).content
  expect(found).toMatchObject({
    text: 'The daemon could not answer. Call again later; the reason is in the log of the daemon.',
  })
})
