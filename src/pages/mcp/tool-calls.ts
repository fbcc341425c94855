// Lists the tools and answers calls of them. Arguments are checked, answers are bounded, and only a few calls run at the same time. Whatever
// prevents an answer is the result of the call, as a sentence that ends in what to do.
import PQueue from 'p-queue'
import { z } from 'zod'
import { bounded, leftOutShape, maxCharacters } from './bounded.ts'
import { NotShown } from '../layout/not-shown.ts'
import { reasonOf } from '../../lib/fault.ts'
import { UnknownValue } from '../access/own-values.ts'
import { tools, type Tool } from './tools.ts'
import type { ApiRoute } from '../api/api-route.ts'
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js'
import type { Log } from '../../lib/log.ts'

const concurrency = 4
/** Calls that may wait. */
const maxWaiting = 32
/** Rows of each list. */
const defaultRows = 20
const maxRows = 200

export interface ToolCalls {
  readonly list: () => ListedTool[]
  readonly call: (name: string, args: unknown) => Promise<CallToolResult>
}

/** `routes`: those of the JSON API. */
export function createToolCalls(routes: readonly ApiRoute[], log: Log): ToolCalls {
  const known = new Map(tools.map(tool => [tool.name, callable(tool, routes)]))
  const queue = new PQueue({ concurrency })
  let listed: ListedTool[] | undefined
  return {
    // Made at the first request, because it takes some milliseconds.
    list: () => (listed ??= [...known.values()].map(listedTool)),
    call: async (name, args) => {
      const found = known.get(name)
      if (found === undefined)
        return refusal(`There is no tool “${name}”. Use one of: ${[...known.keys()].join(', ')}.`)
      if (queue.size >= maxWaiting)
        return refusal('Too many calls wait for their answers. Call again in a few seconds.')
      const input = found.input.safeParse(args ?? {})
      if (!input.success) return refusal(`${wrong(input.error)} Use the arguments that tools/list describes.`)
      try {
        return await queue.add(async () => answered(found, input.data as Asked))
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

/** Tools only read, and reading does not depend on who asks. */
const reader = { as: 'admitted', by: 'bearer', form: '' } as const

async function answered({ tool, route }: CallableTool, asked: Asked): Promise<CallToolResult> {
  const found = await route.handle({ ...asked, ...tool.fixed } as never, reader)
  if (found instanceof NotShown) return refusal(`${found.reason} Ask the operator of Pipespan for it.`)
  if (found instanceof UnknownValue) return refusal(found.reason)
  if (found === undefined)
    return refusal('Nothing with these ids is stored, or it is hidden. Find ids with find_pipelines.')
  const selected = tool.select === undefined ? found : tool.select(found as never, asked as never)
  if (typeof selected === 'string') return refusal(selected)
  const answer = bounded(tool.answer.parse(selected), { limit: asked.limit, keep: tool.keep ?? 'first' })
  if (answer === undefined)
    return refusal(`The answer has more than ${maxCharacters} characters. Use a filter, or open it on the pages.`)
  const text = JSON.stringify(answer)
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> }
}

function listedTool({ tool, input }: CallableTool): ListedTool {
  const { name, title, description, answer, asksPlatform = false } = tool
  return {
    ...{ name, title, description },
    inputSchema: schema(input, 'input'),
    outputSchema: schema(answer.extend({ leftOut: leftOutShape }), 'output'),
    annotations: {
      title,
      readOnlyHint: true,
      idempotentHint: true,
      destructiveHint: false,
      openWorldHint: asksPlatform,
    },
  }
}

/** In draft 7, which every client understands. */
function schema(shape: z.ZodObject, io: 'input' | 'output'): ListedTool['inputSchema'] {
  return z.toJSONSchema(shape, { io, target: 'draft-7' }) as ListedTool['inputSchema']
}

function wrong({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${['arguments', ...path].join('.')}: ${message}.`).join(' ')
}

function refusal(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}
