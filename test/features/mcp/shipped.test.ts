// Tests the MCP endpoint of the shipped daemon: it is off by default, and its code is loaded only when it is enabled.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { connectMcp } from './mcp-client.ts'
import { Daemon } from '../../e2e/daemon.ts'
import { noteModules } from '../../e2e/loaded-modules.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { shippedModules } from '../../shipped.ts'
import { until } from '../../console/house.ts'

const sdk = '// node_modules/@modelcontextprotocol/sdk/'

async function start(env: NodeJS.ProcessEnv): Promise<{ readonly daemon: Daemon; readonly hasLoaded: () => boolean }> {
  const loaded = noteModules(temporaryFolder())
  const daemon = await Daemon.start(env, loaded.nodeArgs)
  const hasLoaded = (): boolean =>
    loaded
      .names()
      .filter(name => name.endsWith('.js') && name !== 'main.js')
      .some(name => readFileSync(path.join(shippedModules, name), 'utf8').includes(sdk))
  return { daemon, hasLoaded }
}

it('disables MCP by default, names the setting that enables it, and loads no code for it', async () => {
  const { daemon, hasLoaded } = await start({})
  expect((await fetch(daemon.adminUrl)).status).toBe(200)
  for (const method of ['GET', 'POST']) {
    const answer = await fetch(`${daemon.adminUrl}/mcp`, { method })
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('Set PIPESPAN_MCP=true')])
  }
  expect(hasLoaded()).toBe(false)
})

it('serves reported pipelines to the official MCP client, under a base path', async () => {
  const token = 'an-admin-token-of-tests'
  const { daemon, hasLoaded } = await start({
    PIPESPAN_MCP: 'true',
    PIPESPAN_ADMIN_TOKEN: token,
    PIPESPAN_BASE_PATH: '/spans',
  })
  expect(hasLoaded()).toBe(true)
  expect((await daemon.post(pipelineEvent({ id: 4_711 }))).status).toBe(202)
  const mcp = await connectMcp(daemon.adminUrl, token)
  expect(mcp.client.getServerVersion()).toMatchObject({ name: 'pipespan' })
  const found = async (): Promise<object[]> => (await mcp.call('find_pipelines')).answer.pipelines as object[]
  await until(async () => (await found()).length > 0)
  expect(await found()).toMatchObject([{ pipelineId: 4_711 }])
  await mcp.client.close()
})
