// Lists the tools and handles tool calls. Arguments are validated, and responses are bounded. If a call fails, its result says why and what to do. A
// result is sent once, as text, which every client passes on to its model. The protocol's structured form would repeat the same JSON, and clients
// that do not support that form need the text.
import { z } from 'zod'
import { bounded, maxCharacters } from './bounded.ts'
import { NotShown } from '../../console/layout/not-shown.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { ApiRoute } from '../../console/api/api-route.ts'
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js'
import type { Log } from '../../lib/log.ts'
import type { Tool } from '../../console/api/tool.ts'

/** The default maximum number of rows in each list. */
const defaultRows = 20
const maxRows = 200

export interface ToolCalls {
  readonly list: () => ListedTool[]
  readonly call: (name: string, args: unknown) => Promise<CallToolResult>
}

export function createToolCalls(tools: readonly Tool[], routes: readonly ApiRoute[], log: Log): ToolCalls {
  const known = new Map(tools.map(tool => [tool.name, callable(tool, routes)]))
  let listed: ListedTool[] | undefined
  return {
    // The tool list is built at the first request, because that takes some milliseconds.
    list: () => (listed ??= [...known.values()].map(listedTool)),
    call: async (name, args) => {
      const found = known.get(name)
      if (found === undefined)
        return refusal(`There is no tool “${name}”. Use one of: ${[...known.keys()].join(', ')}.`)
      const input = found.input.safeParse(args ?? {})
      if (!input.success) return refusal(`${wrong(input.error)} Use the arguments that tools/list describes.`)
      try {
        return await answered(found, input.data as Asked)
      } catch (error) {
        log.warn({ tool: name, reason: reasonOf(error) }, 'a call of an MCP tool failed')
        return refusal('The daemon could not answer. Call again later; the reason is in the log of the daemon.')
      }
    },
  }
}

interface CallableTool {
  readonly tool: Tool
  readonly route: ApiRoute
  readonly input: z.ZodObject
}

type Asked = Readonly<Record<string, unknown>> & { readonly limit: number }

function callable(tool: Tool, routes: readonly ApiRoute[]): CallableTool {
  const route = routes.find(({ method, path }) => method === 'GET' && path === tool.path)
  if (route === undefined) throw new TypeError(`The JSON API has no route ${tool.path}.`)
  const shape = { ...route.params?.shape, ...route.query?.shape, ...tool.more }
  const asked = Object.fromEntries(Object.entries(shape).filter(([name]) => !(name in (tool.fixed ?? {}))))
  const limit = z.coerce
    .number()
    .int()
    .min(1)
    .max(maxRows)
    .default(tool.rows ?? defaultRows)
    .describe('Max rows of each list.')
  return { tool, route, input: z.strictObject({ ...asked, limit }) }
}

/** Tools only read, and their results do not depend on the caller. */
const reader = { as: 'admitted', by: 'bearer' } as const

async function answered({ tool, route }: CallableTool, asked: Asked): Promise<CallToolResult> {
  const found = await route.handle({ ...asked, ...tool.fixed } as never, reader)
  if (found instanceof NotShown)
    return refusal(`${found.reason}${found.lacksSetting ? ' Ask the operator of Pipespan for it.' : ''}`)
  if (found === undefined)
    return refusal('Nothing with these ids is stored, or it is hidden. Find ids with find_pipelines.')
  const selected = tool.select === undefined ? found : tool.select(found as never, asked as never)
  if (typeof selected === 'string') return refusal(selected)
  const answer = bounded((tool.answer ?? route.answer).parse(selected) as object, {
    limit: asked.limit,
    keep: tool.keep ?? 'first',
  })
  if (answer === undefined)
    return refusal(`The result has more than ${maxCharacters} characters. Use a filter, or open the page.`)
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
}

function listedTool({ tool, input }: CallableTool): ListedTool {
  const { name, title, description, asksPlatform = false } = tool
  return {
    ...{ name, title, description },
    // The schema is in JSON Schema draft 7, which every client supports.
    inputSchema: z.toJSONSchema(input, { io: 'input', target: 'draft-7' }) as ListedTool['inputSchema'],
    annotations: {
      title,
      readOnlyHint: true,
      idempotentHint: true,
      destructiveHint: false,
      openWorldHint: asksPlatform,
    },
  }
}

function wrong({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${['arguments', ...path].join('.')}: ${message}.`).join(' ')
}

function refusal(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}
