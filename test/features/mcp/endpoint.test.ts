// Tests who may call the MCP endpoint, and how it responds to requests of any form.
import { request } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectMcp, type McpClient } from './mcp-client.ts'
import { openHouse, type House } from '../../console/house.ts'
import { openMcpHouse, token, tools, type McpHouse } from './mcp-house.ts'
import { runs } from '../../full.ts'

let opened: McpHouse
let house: House
let mcp: McpClient

beforeAll(async () => {
  opened = await openMcpHouse()
  ;({ house, mcp } = opened)
})
afterAll(async () => opened[Symbol.asyncDispose]())

const bearer = { authorization: `Bearer ${token}` }

/** Sends the request with `node:http`, because fetch does not let a test set the Host header. */
async function post(url: string, headers: Record<string, string>, body: unknown = listTools): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { ...accepted, connection: 'close', ...headers } }
    const sent = request(`${url}/mcp`, options, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject).end(JSON.stringify(body))
  })
}

interface Answer {
  readonly status: number
  readonly text: string
}

const accepted = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

describe('access to the MCP endpoint', () => {
  it('admits only clients with the admin token to the MCP endpoint, if a token is configured', async () => {
    expect(await post(house.url, {})).toMatchObject({
      status: 401,
      text: expect.stringContaining('PIPESPAN_ADMIN_TOKEN') as string,
    })
    expect((await post(house.url, { authorization: 'Bearer another-token-of-this-test' })).status).toBe(401)
    expect(await post(house.url, bearer)).toMatchObject({
      status: 200,
      text: expect.stringContaining('fix_first') as string,
    })
    await expect(connectMcp(house.url)).rejects.toThrow('PIPESPAN_ADMIN_TOKEN')
  })

  it('rejects cross-site MCP requests', async () => {
    for (const headers of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[])
      expect(await post(house.url, { ...bearer, ...headers })).toMatchObject({ status: 403 })
    expect((await post(house.url, { ...bearer, origin: new URL(house.url).origin })).status).toBe(200)
  })

  it('shows a user logged in by a proxy only their own projects over MCP', async () => {
    const params = { name: 'find_pipelines', arguments: { limit: 100 } }
    const seenBy = async (who: string): Promise<string> =>
      (await post(house.url, { 'x-auth-request-email': who }, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
        .text
    expect(await seenBy('all@acme.example')).toMatch(/acme.*brightwater|brightwater.*acme/)
    expect(await seenBy('shop@acme.example')).toContain('acme/shop')
    expect(await seenBy('shop@acme.example')).not.toContain('brightwater')
    const elsewhere = { 'x-auth-request-email': 'all@acme.example', host: 'evil.example' }
    expect((await post(house.url, elsewhere)).status).toBe(403)
  })

  it('without an admin token, admits only clients on this machine to the MCP endpoint, and only if they use a loopback host name', async () => {
    const open = await openHouse({ PIPESPAN_MCP: 'true' })
    try {
      const { client } = await connectMcp(open.url)
      await client.close()
      for (const headers of [{ host: 'evil.example' }, { 'x-forwarded-for': '203.0.113.9' }] as Record<
        string,
        string
      >[])
        expect(await post(open.url, headers)).toMatchObject({
          status: 403,
          text: expect.stringContaining('loopback') as string,
        })
    } finally {
      await open.close()
    }
  })
})

describe('MCP endpoint', () => {
  it('sends the result of an MCP tool once, not in two forms', async () => {
    const params = { name: 'find_pipelines', arguments: { project: 'acme/shop' } }
    const { status, text } = await post(house.url, bearer, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    expect([status, text.match(/4711/g)?.length]).toEqual([
      200,
      (await mcp.call(params.name, params.arguments)).text.match(/4711/g)?.length,
    ])
  })

  it.each(['GET', 'DELETE'])(
    'responds to %s on the MCP endpoint with 405 and the allowed method, because the endpoint has no sessions',
    async method => {
      const refused = await fetch(`${house.url}/mcp`, { method, headers: { ...bearer, accept: 'text/event-stream' } })
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST'])
      expect((await fetch(`${house.url}/mcp`, { method })).status).toBe(401)
    },
  )

  it('answers some of 200 concurrent MCP calls, and tells the other clients to retry', async () => {
    const params = { name: 'find_pipelines', arguments: { limit: 200 } }
    const call = async () => post(house.url, bearer, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const answers = await Promise.all(Array.from({ length: 200 }, call))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
    expect(answers.find(({ status }) => status === 429)?.text).toContain('Try again')
  })

  it('rejects batches, large bodies, and bodies that are not JSON on the MCP endpoint', async () => {
    expect((await post(house.url, bearer, [listTools, listTools])).status).toBe(400)
    expect((await post(house.url, bearer, { ...listTools, params: 'x'.repeat(20_000) })).status).toBe(413)
    expect((await post(house.url, { ...bearer, 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post(house.url, { ...bearer, accept: 'text/html' })).status).toBe(406)
    expect((await post(house.url, bearer, { method: 'tools/list' })).status).toBe(400)
  })

  it('answers any MCP request without an internal error', async () => {
    const args = fc.dictionary(fc.constantFrom('projectId', 'limit', 'span', 'text', 'with', 'find'), fc.jsonValue())
    const name = fc.oneof(fc.constantFrom(...tools.map(tool => tool.name)), fc.string())
    const call = fc.record({ name, arguments: fc.oneof(args, fc.jsonValue()) })
    const method = fc.oneof(fc.constant('tools/call'), fc.string())
    const id = fc.oneof(fc.integer(), fc.string())
    const message = fc.record({ jsonrpc: fc.constant('2.0'), id, method, params: fc.oneof(call, fc.jsonValue()) })
    await fc.assert(
      fc.asyncProperty(fc.oneof(message, fc.jsonValue()), async body => {
        const { status, text } = await post(house.url, bearer, body)
        expect([status, text]).toEqual([
          expect.toSatisfy((code: number) => code < 500),
          expect.not.stringContaining('could not answer'),
        ])
      }),
      runs(500),
    )
  })
})
