// Connects the official Model Context Protocol client to a daemon.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export interface ToolAnswer {
  readonly isError?: boolean
  /** The error message, or the result as JSON. */
  readonly text: string
  readonly answer: Record<string, unknown>
}

export interface McpClient {
  readonly client: Client
  /** Calls a tool and returns its result. */
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
}

/** `url` is the URL of the admin listener. */
export async function connectMcp(url: string, token?: string): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' })
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
  await client.connect(transport)
  await client.listTools()
  return {
    client,
    call: async (name, args = {}) => {
      const { isError, content, ...others } = await client.callTool({ name, arguments: args })
      const [{ text } = { text: '' }, ...more] = content as { text: string }[]
      if (more.length > 0 || Object.keys(others).length > 0) throw new Error(`${name}: more than one answer`)
      return {
        isError: isError === true,
        text,
        answer: isError === true ? {} : (JSON.parse(text) as ToolAnswer['answer']),
      }
    },
  }
}
