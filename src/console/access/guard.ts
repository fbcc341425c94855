// The guard of everything on the admin listener except health: admits a request, or answers why not.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressOf, show } from '../layout/answers.ts'
import { bareDocument } from '../layout/frame.ts'
import { refuse } from './gate.ts'
import { nobodyPage, otherHostPage, strangeHostPage } from './entrance.ts'
import type { Access, Admitted } from './access.ts'

/** Set on the routes of pages, which people open in a browser. All other routes are for programs. */
export interface RouteReader {
  readonly forPeople?: boolean
}

/** The admission of a request that passed the guard. */
export function admissionOf(request: FastifyRequest): Admitted {
  return request.getDecorator<Admitted>('admission')
}

export async function guard(
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  base: string,
): Promise<unknown> {
  const admission = await access.admit(request)
  void reply.header('cache-control', 'no-store')
  if (admission.as === 'admitted') {
    request.setDecorator('admission', admission)
    return undefined
  }
  const forPeople = (request.routeOptions.config as RouteReader).forPeople === true
  if (admission.as === 'other host') {
    if (forPeople) return show(reply, bareDocument(otherHostPage(), base), 403)
    const message = 'This host name is not one of the daemon’s. Name it in admin.hosts (PIPESPAN_ADMIN_HOSTS).'
    return reply.code(403).send({ message })
  }
  if (admission.as === 'nobody') {
    if (forPeople) return show(reply, bareDocument(nobodyPage(), base), 403)
    const message =
      'No entry of admin.people names who sends this, or it did not come through a trusted proxy. Send it through the proxy, or use the admin token.'
    return reply.code(403).send({ message })
  }
  if (forPeople && admission.as === 'strange host') return show(reply, bareDocument(strangeHostPage(), base), 403)
  if (forPeople && (admission.as === 'no token' || admission.as === 'wrong token') && request.method === 'GET') {
    const next = addressOf(request, base)
    return reply.redirect(`${base}/login?${new URLSearchParams({ next }).toString()}`, 303)
  }
  return refuse(reply, admission.as)
}
