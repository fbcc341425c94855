// The pages, their actions and the JSON API as routes of a listener: who is let in, and in which form answers leave.
import helmet from '@fastify/helmet'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { actionOf, perform } from './exports.ts'
import { addressed, siteOf } from './site.ts'
import { apiRoutes } from './api.ts'
import { assets, bareDocument, document, type Page, type Reader } from './frame.ts'
import { createAccess, isOurs, isSameSite, type Access, type Admission } from './access.ts'
import { createLive, type Live } from './live.ts'
import { loginPage, notFoundPage, ownAddress, refusedPage, strangeHostPage } from './entrance.ts'
import { newSession, sessionCookie, sessionLife } from './session.ts'
import { registerApi } from './api-routes.ts'
import { withoutHidden } from './hidden.ts'
import type { PagesParts, PagesSettings } from './ports.ts'

/** A form has a few short fields, bytes. */
const largestForm = 16 * 1024

export interface PagesOptions {
  readonly parts: PagesParts
  readonly settings: PagesSettings
}

export function createPages({ parts: all, settings }: PagesOptions): FastifyPluginAsync {
  const parts = settings.isHidden === undefined ? all : withoutHidden(all, settings.isHidden)
  const access = createAccess({ token: settings.adminToken, now: parts.now })
  const live = createLive(parts.log)
  const site = siteOf(parts, settings)
  return async app => {
    const base = app.prefix === '/' ? '' : app.prefix
    await app.register(helmet, securityHeaders)
    app.addHook('preClose', async () => live.close())
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: largestForm },
      (_request, body, done) => done(null, new URLSearchParams(body as string)),
    )
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: largestForm },
      (_request, body, done) => {
        try {
          done(null, JSON.parse(body as string))
        } catch {
          done(Object.assign(new Error('no JSON'), { statusCode: 400 }))
        }
      },
    )
    registerEntrance(app, access, base)
    await app.register(async inner => {
      inner.decorateRequest('admission')
      inner.addHook('onRequest', async (request, reply) => guard(request, reply, access, base))
      registerSite(inner, { parts, access, live, site, base })
      registerApi(inner, apiRoutes(parts, settings))
    })
  }
}

const securityHeaders = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  crossOriginEmbedderPolicy: true,
  referrerPolicy: { policy: 'same-origin' as const },
  // The listener speaks plain HTTP; whoever puts TLS before it decides for the whole name.
  strictTransportSecurity: false,
  xFrameOptions: { action: 'deny' as const },
}

/** What is open to everybody: the looks, and the door. */
function registerEntrance(app: FastifyInstance, access: Access, base: string): void {
  app.get('/assets/:name', async (request, reply) => {
    const { name } = request.params as { name: string }
    const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
    if (asset === undefined) return reply.code(404).send({ message: 'There is nothing at this address.' })
    return reply.header('cache-control', 'public, max-age=31536000, immutable').type(asset.type).send(asset.body)
  })
  app.get('/login', async (request, reply) => {
    if (!access.secured()) return reply.redirect(`${base}/`, 303)
    const { next } = request.query as { next?: string }
    return show(reply, bareDocument(loginPage(base, ownAddress(next)), base), 200)
  })
  app.post('/login', async (request, reply) => {
    const form = formOf(request)
    const next = ownAddress(form.get('next'))
    if (!access.secured()) return reply.redirect(`${base}/`, 303)
    // Nobody else's page may log somebody in, as whomever.
    if (!isSameSite(request)) return show(reply, bareDocument(refusedPage(), base), 403)
    const outcome = access.login(request, form.get('token') ?? '')
    const token = access.options.token()
    if (outcome === 'right' && token !== undefined) {
      const session = newSession(token, access.options.now())
      return reply
        .header('set-cookie', cookie(request, base, session, sessionLife / 1000))
        .redirect(`${base}${next}`, 303)
    }
    if (typeof outcome === 'object') {
      const minutes = Math.ceil(outcome.retryAfter / 60)
      const page = loginPage(base, next, `Too many wrong tokens. Try again in ${minutes} min.`)
      return show(reply.header('retry-after', outcome.retryAfter), bareDocument(page, base), 429)
    }
    return show(reply, bareDocument(loginPage(base, next, 'This is not the admin token.'), base), 401)
  })
}

function cookie(request: FastifyRequest, base: string, value: string, seconds: number): string {
  const secure = request.protocol === 'https' ? '; Secure' : ''
  return `${sessionCookie}=${value}; Path=${base === '' ? '/' : base}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
}

/** Answers those who are not let in. */
async function guard(request: FastifyRequest, reply: FastifyReply, access: Access, base: string): Promise<unknown> {
  const admission = access.admit(request)
  void reply.header('cache-control', 'no-store')
  if (admission.as === 'admitted') {
    request.setDecorator('admission', admission)
    return undefined
  }
  const isApi = request.url.startsWith(`${base}/api/`)
  if (admission.as === 'strange host') {
    if (isApi) return reply.code(403).send({ message: 'Ask by a loopback name, or configure an admin token.' })
    return show(reply, bareDocument(strangeHostPage(), base), 403)
  }
  if (admission.as === 'too many') {
    void reply.header('retry-after', admission.retryAfter)
    return reply.code(429).send({ message: 'Too many wrong tokens came from this address.' })
  }
  if (isApi || request.method !== 'GET' || request.url.startsWith(`${base}/live`)) {
    return reply
      .code(401)
      .header('www-authenticate', 'Bearer')
      .send({ message: 'The admin token is missing or wrong.' })
  }
  const next = addressOf(request, base)
  return reply.redirect(`${base}/login?${new URLSearchParams({ next }).toString()}`, 303)
}

interface SiteParts {
  readonly parts: PagesParts
  readonly access: Access
  readonly live: Live
  readonly site: ReturnType<typeof siteOf>
  readonly base: string
}

function registerSite(app: FastifyInstance, { parts, access, live, site, base }: SiteParts): void {
  const readerOf = (request: FastifyRequest, address: string): Reader => {
    const admission = request.getDecorator<Extract<Admission, { as: 'admitted' }>>('admission')
    const [, query = ''] = address.split(/\?(.*)/s)
    const session = admission.by === 'session'
    return { base, address, query: new URLSearchParams(query), now: parts.now(), form: admission.form, session }
  }
  const pageAt = async (reader: Reader): Promise<Page | undefined> => {
    const found = addressed(site, reader.address.split('?', 1)[0] ?? '/')
    return found?.address.page(reader, found.given)
  }
  for (const { path } of site) {
    app.get(path, async (request, reply) => {
      const reader = readerOf(request, addressOf(request, base))
      const page = (await pageAt(reader)) ?? notFoundPage('It may have been pruned, or never was heard of.')
      return show(reply, document(page, reader), page.status ?? 200)
    })
  }
  app.get('/live', async (request, reply) => {
    const address = ownAddress((request.query as { page?: string }).page)
    const render = async (): Promise<string | undefined> => {
      // A session that ended while the page was open ends its news too.
      if (access.admit(request).as !== 'admitted') return undefined
      return (await pageAt(readerOf(request, address)))?.content.toString()
    }
    const key = JSON.stringify([address, readerOf(request, address).form])
    reply.hijack()
    const headers = reply.getHeaders()
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) reply.raw.setHeader(name, value)
    if (live.follow(reply.raw, key, render)) return
    reply.raw.writeHead(503, { 'retry-after': '30' }).end()
  })
  app.post('/exports/do', async (request, reply) => {
    const form = formOf(request)
    const admission = request.getDecorator<Admission>('admission')
    const reader = readerOf(request, '/exports')
    if (!isOurs(request, admission, form.get('form') ?? undefined)) {
      return show(reply, document(refusedPage(), reader), 403)
    }
    const action = actionOf(form)
    if (action === undefined) return show(reply, document(notFoundPage('There is no such action.'), reader), 404)
    const count = await perform(parts, action)
    const done = new URLSearchParams({ done: action.verb, count: String(count) })
    return reply.redirect(`${base}/exports?${done.toString()}`, 303)
  })
  app.post('/logout', async (request, reply) => {
    const admission = request.getDecorator<Admission>('admission')
    if (!isOurs(request, admission, formOf(request).get('form') ?? undefined)) {
      return show(reply, document(refusedPage(), readerOf(request, '/')), 403)
    }
    return reply.header('set-cookie', cookie(request, base, '', 0)).redirect(`${base}/login`, 303)
  })
}

/** Path and query below the base. */
function addressOf(request: FastifyRequest, base: string): string {
  const address = request.url.slice(base.length)
  return address.startsWith('/') ? address : `/${address}`
}

function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
}

function show(reply: FastifyReply, text: string, status: number): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(text)
}
