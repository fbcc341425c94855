// Registers the JSON API's routes and its OpenAPI description. Each route's inputs are validated against its shapes.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { admissionOf } from '../access/guard.ts'
import { isOurs, mayChange } from '../access/access.ts'
import { notAllowed } from '../access/entrance.ts'
import { NotShown } from '../layout/not-shown.ts'
import { openApi } from './openapi.ts'
import { version } from '../../lib/version.ts'
import type { ApiRoute } from './api-route.ts'
import type { ViewOf } from '../access/views.ts'

/** `routes` are the routes of the view that shows all projects. `viewOf` returns the view for a request. */
export function registerApi(app: FastifyInstance, routes: readonly ApiRoute[], viewOf: ViewOf): void {
  // The OpenAPI description. It is generated on the first request, because generating it takes longer than setting up all pages at startup.
  let description: ReturnType<typeof openApi> | undefined
  app.get('/api/openapi.json', async (_request, reply) => reply.send((description ??= openApi(routes, version))))
  for (const [index, route] of routes.entries()) {
    app.route({
      method: route.method,
      url: `/api${route.path}`,
      handler: async (request, reply) => {
        if (route.method === 'POST' && !isOurs(request, admissionOf(request))) {
          return reply.code(403).send({
            message:
              'This request was sent by a page of another website. Send it from a script, or from a page that this daemon serves.',
          })
        }
        const may = mayChange(admissionOf(request))
        if (route.method === 'POST' && (may === 'nothing' || (may === 'own' && route.isOfAll === true))) {
          return reply.code(403).send({ message: notAllowed })
        }
        const input = inputOf(request, route)
        if ('wrong' in input) return reply.code(400).send({ message: input.wrong })
        const answer = await (viewOf(admissionOf(request)).routes[index] ?? route).handle(
          input.asked,
          admissionOf(request),
        )
        if (answer instanceof NotShown) return reply.code(404).send({ message: answer.reason })
        if (answer === undefined) return reply.code(404).send({ message: 'Not found.' })
        return reply.send(answer)
      },
    })
  }
}

function inputOf(
  request: FastifyRequest,
  { params, query, body }: ApiRoute,
): { readonly asked: never } | { readonly wrong: string } {
  const asked: Record<string, unknown> = {}
  for (const [place, shape] of Object.entries({ params, query, body })) {
    if (shape === undefined) continue
    const read = shape.safeParse(request[place as 'params' | 'query' | 'body'])
    if (!read.success) {
      const [issue] = read.error.issues
      return {
        wrong: `${[place, ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'does not match the schema'}.`,
      }
    }
    Object.assign(asked, read.data)
  }
  return { asked: asked as never }
}
