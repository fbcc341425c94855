// The routes that need no login (assets, login), and the logout.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { admissionOf } from './guard.ts'
import { assets, bareDocument } from '../layout/frame.ts'
import { formOf, show } from '../layout/answers.ts'
import { isOurs, isSameSite, type Access } from './access.ts'
import { loginPage, ownAddress, refusedPage } from './entrance.ts'
import { sessionCookie, sessionLife } from './session.ts'

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
    if (outcome === 'wrong token')
      return show(reply, bareDocument(loginPage(base, next, 'This is not the admin token.'), base), 401)
    const problem = 'This is not the admin token. After several wrong tokens answers are delayed for a while.'
    return show(reply.header('retry-after', '1'), bareDocument(loginPage(base, next, problem), base), 429)
  })
}

/** Register it behind the guard. */
export function registerExit(app: FastifyInstance, access: Access, base: string): void {
  app.post('/logout', async (request, reply) => {
    const admission = admissionOf(request)
    if (!isOurs(request, admission, formOf(request).get('form') ?? undefined)) {
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
