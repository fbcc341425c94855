// Guards all routes of the admin listener except health checks: it admits a request, or responds with the reason why it is not admitted. This file
// also registers the routes that need no login (assets, login), and the logout.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { assets, bareDocument } from '../layout/frame.ts'
import { isOurs, isSameSite, type Access, type Admitted } from './access.ts'
import { refuse } from './gate.ts'
import { loginPage, notAdmittedPage, ownAddress, refusedPage } from './entrance.ts'
import { sessionCookie, sessionLife } from './session.ts'

/** The route configuration of a page. Pages are opened by people in a browser; all other routes are for programs. */
export interface RouteReader {
  readonly forPeople?: boolean
}

/** Returns how a request that passed the guard was admitted. */
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
  const page = forPeople ? notAdmittedPage(admission.as) : undefined
  if (page !== undefined) return show(reply, bareDocument(page, base), 403)
  if (forPeople && (admission.as === 'no token' || admission.as === 'wrong token') && request.method === 'GET') {
    const next = addressOf(request, base)
    return reply.redirect(`${base}/login?${new URLSearchParams({ next }).toString()}`, 303)
  }
  return refuse(reply, admission.as)
}

export function registerEntrance(app: FastifyInstance, access: Access, base: string): void {
  app.get('/assets/:name', async (request, reply) => {
    const { name } = request.params as { name: string }
    const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
    if (asset === undefined) return reply.code(404).send({ message: 'Not found.' })
    return reply.header('cache-control', 'public, max-age=31536000, immutable').type(asset.type).send(asset.body)
  })
  app.get('/login', async (request, reply) => {
    if (!access.takesLogin(request)) return reply.redirect(`${base}/`, 303)
    const { next } = request.query as { next?: unknown }
    return show(reply, bareDocument(loginPage(base, ownAddress(next)), base), 200)
  })
  app.post('/login', async (request, reply) => {
    const form = formOf(request)
    const next = ownAddress(form.get('next'))
    if (!access.takesLogin(request)) return reply.redirect(`${base}/`, 303)
    // Another site must not be able to log somebody in (login CSRF).
    if (!isSameSite(request)) return show(reply, bareDocument(refusedPage(), base), 403)
    const outcome = await access.login(request, form.get('token') ?? '')
    if (typeof outcome === 'object') {
      return reply
        .header('set-cookie', cookie(request, base, outcome.cookie, sessionLife / 1000))
        .redirect(`${base}${next}`, 303)
    }
    const isWrong = outcome === 'wrong token'
    const more = isWrong ? '' : ' After several wrong tokens, further attempts are delayed for a while.'
    const page = bareDocument(loginPage(base, next, `This is not the admin token.${more}`), base)
    return show(isWrong ? reply : reply.header('retry-after', '1'), page, isWrong ? 401 : 429)
  })
}

/** Registers the logout route. It must be registered behind the guard. */
export function registerExit(app: FastifyInstance, access: Access, base: string): void {
  app.post('/logout', async (request, reply) => {
    const admission = admissionOf(request)
    if (!isOurs(request, admission)) {
      return show(reply, bareDocument(refusedPage(), base), 403)
    }
    await access.logout(admission)
    return reply.header('set-cookie', cookie(request, base, '', 0)).redirect(`${base}/login`, 303)
  })
}

function cookie(request: FastifyRequest, base: string, value: string, seconds: number): string {
  const secure = request.protocol === 'https' ? '; Secure' : ''
  return `${sessionCookie}=${value}; Path=${base === '' ? '/' : base}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
}

/** Returns the request's path and query, relative to the base path. */
export function addressOf(request: FastifyRequest, base: string): string {
  const address = request.url.slice(base.length)
  return address.startsWith('/') ? address : `/${address}`
}

export function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
}

export function show(reply: FastifyReply, text: string, status: number): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(text)
}
