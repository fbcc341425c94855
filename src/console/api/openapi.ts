// The OpenAPI 3.1 description of the JSON API, generated from its table of routes.
import { z } from 'zod'
import type { ApiRoute } from './api-route.ts'

type Json = Record<string, unknown>

export function openApi(routes: readonly ApiRoute[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  /** The schemas that refer to themselves, by name. */
  const shared: Json = {}
  for (const route of routes) {
    const path = `/api${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, shared) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pipespan',
      version,
      description:
        'The data of the status pages as JSON, on the admin listener under its base path. Times are Unix time in milliseconds.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ bearer: [] }, {}],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The admin token. If none is configured, requests must use a loopback host name.',
        },
      },
      schemas: {
        ...shared,
        Message: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
      },
    },
  }
}

function operation(route: ApiRoute, shared: Json): Json {
  const { description, method, path, params, query, body, answer } = route
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[/:-]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: description,
    parameters: [...parameters('path', params, shared), ...parameters('query', query, shared)],
    ...(body === undefined
      ? {}
      : {
          requestBody: { required: true, content: { 'application/json': { schema: schema(body, 'input', shared) } } },
        }),
    responses: {
      200: { description: 'Done.', content: { 'application/json': { schema: schema(answer, 'output', shared) } } },
      400: refusal('A parameter does not match the schema.'),
      401: refusal('The admin token is missing or wrong.'),
      403: refusal('The host name is not allowed, or the request came from another site.'),
      404: refusal(
        'Not found, or not shown because the daemon’s configuration lacks a setting, which the message names.',
      ),
      429: refusal('Too many wrong tokens from this address.'),
    },
  }
}

function refusal(description: string): Json {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Message' } } } }
}

/** Returns the OpenAPI parameters of a route. Their types are those after parsing, but `required` describes the request before parsing. */
function parameters(place: 'path' | 'query', shape: z.ZodObject | undefined, shared: Json): Json[] {
  if (shape === undefined) return []
  const { properties = {} } = schema(shape, 'output', shared) as { properties?: Record<string, Json> }
  const { required = [] } = schema(shape, 'input', shared) as { required?: string[] }
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: one,
  }))
}

/** Converts a shape to JSON Schema. Recursive shapes are added to `shared` and referenced. */
function schema(shape: z.ZodType, io: 'input' | 'output', shared: Json): Json {
  const text = JSON.stringify(z.toJSONSchema(shape, { io, target: 'draft-2020-12', reused: 'inline', override: pair }))
  const { $schema: _, $defs, ...rest } = JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Json
  Object.assign(shared, $defs)
  return rest
}

/** Describes tuples as arrays, because not all client generators understand `prefixItems`. The elements of each tuple here have the same type. */
function pair({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { prefixItems } = jsonSchema
  if (prefixItems === undefined) return
  delete jsonSchema.prefixItems
  jsonSchema.items = prefixItems[0] ?? false
}
