// Routes that take long give way: each request runs in turns, a few at a time, and when too many wait it is answered with 429.
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'
import { admissionOf } from './access/guard.ts'
import { holderOf } from './access/access.ts'
import { retryAfter, type BusyLimit } from '../lib/busy-limit.ts'

/** Set on routes whose answer does not end, which have a limit of their own. */
export interface RouteWithoutLimit {
  readonly isOpenEnded?: boolean
}

/** For the routes that are registered after it, behind the guard. `refuse`: sends the answer to whoever must come again. */
export function limitRoutes(
  app: FastifyInstance,
  limit: BusyLimit,
  refuse: (reply: FastifyReply) => FastifyReply,
): void {
  const limited = new WeakSet<RouteHandlerMethod>()
  app.addHook('onRoute', route => {
    const { handler } = route
    // Fastify makes a route for HEAD of each for GET, with its handler.
    if (limited.has(handler) || (route.config as RouteWithoutLimit | undefined)?.isOpenEnded === true) return
    route.handler = async function (request, reply) {
      const answer = await limit.run(holderOf(admissionOf(request)), reply.raw, async () => {
        await handler.call(this, request, reply)
        return 'answered' as const
      })
      if (answer === 'refused') return refuse(reply.code(429).header('retry-after', String(retryAfter)))
      return reply
    }
    limited.add(route.handler)
  })
}
