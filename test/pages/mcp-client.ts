// The official client of the Model Context Protocol, connected to a daemon.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export interface ToolAnswer {
  readonly isError?: boolean
  /** The sentence of an error; else the answer as JSON. */
  readonly text: string
  readonly answer: Record<string, unknown>
}

export interface McpClient {
  readonly client: Client
  /** Calls a tool. The client checks the answer against the schema that the tool has. */
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
}

/** `url`: of the admin listener. */
export async function connectMcp(url: string, token?: string): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' })
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
  await client.connect(transport)
  await client.listTools()
  return {
    client,
    call: async (name, args = {}) => {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: args })
      const [{ text }] = content as [{ text: string }]
      if (isError !== true && JSON.stringify(structuredContent) !== text) throw new Error(`${name}: two answers`)
      return { isError: isError === true, text, answer: (structuredContent ?? {}) as Record<string, unknown> }
    },
  }
}
