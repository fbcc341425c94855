// The admin listener's routes except health checks: pages, their actions, the JSON API, and other routes behind the listener's guard.
import { createHash } from 'node:crypto'
import helmet from '@fastify/helmet'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { actionOf, perform, tryNow } from './exports/exports.ts'
import { addressWith, wholeNumber } from './layout/address.ts'
import {
  addressOf,
  admissionOf,
  formOf,
  guard,
  registerEntrance,
  registerExit,
  show,
  type RouteReader,
} from './access/guard.ts'
import { busy, busyPage, notAllowedPage, notFoundPage, refusedPage } from './access/entrance.ts'
import { createAccess, isOurs, mayChange, type Access } from './access/access.ts'
import { createBusyLimit, maxOpenPages, maxRequests, retryAfter, type BusyLimit } from '../lib/busy-limit.ts'
import { createHourWatch, minute } from './overview/last-hour.ts'
import { every } from '../lib/timer.ts'
import { bareDocument, document, type Page, type RequestContext } from './layout/frame.ts'
import { html } from './layout/html.ts'
import { registerApi } from './api/api-routes.ts'
import { reasonOf } from '../lib/fault.ts'
import { createViews } from './access/views.ts'
import { sharedAnswers } from '../lib/shared-answer.ts'
import { identifier, type ProjectChoice } from './access/person.ts'
import type { ApiRoute } from './api/api-route.ts'
import type { ConsolePart } from './console-part.ts'
import type { PagesSettings, PagesSources } from './ports.ts'
import type { Repositories } from '../core/store/ports/repository.ts'

/** The maximum size of a form in bytes. Forms have only a few short fields. */
const maxFormBytes = 16 * 1024

export interface PagesOptions {
  /** Returns the pages' data sources for a person's selection of projects. Without a selection, they cover all projects that are not hidden. */
  readonly sourcesOf: (choice: ProjectChoice | undefined) => PagesSources
  readonly sessions: Repositories['sessions']
  readonly settings: PagesSettings
  readonly features: readonly ConsolePart[]
  /** Additional routes behind the guard of the admin listener, such as `/metrics`. */
  readonly guarded?: readonly FastifyPluginAsync[] | undefined
}

const forPeople: RouteReader = { forPeople: true }

export function createPages({
  sourcesOf,
  sessions,
  settings: own,
  features,
  guarded = [],
}: PagesOptions): FastifyPluginAsync {
  const secretKinds = () => features.flatMap(one => one.secret?.()?.timeline ?? [])
  const settings = { ...own, secretKinds }
  const all = sourcesOf(undefined)
  const hour = createHourWatch(all)
  const views = createViews(sourcesOf, settings, hour, features)
  const access = createAccess({
    token: settings.adminToken,
    identify: settings.people && identifier(settings.people),
    sessions,
    now: all.now,
    log: all.log,
  })
  return async app => {
    const base = app.prefix === '/' ? '' : app.prefix
    await app.register(helmet, securityHeaders)
    const sampling = every(
      minute,
      async () => hour.sample(),
      error =>
        all.log.warn({ reason: reasonOf(error) }, 'the counts of the last hour could not be read from the store'),
    )
    app.addHook('preClose', async () => {
      access.close()
      sampling.stop()
    })
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      (_request, body, done) => done(null, new URLSearchParams(body as string)),
    )
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      (_request, body, done) => {
        try {
          done(null, JSON.parse(body as string))
        } catch {
          done(Object.assign(new Error('The body is not valid JSON.'), { statusCode: 400 }))
        }
      },
    )
    registerEntrance(app, access, base)
    registerNotFound(app, base)
    await app.register(async inner => {
      inner.decorateRequest('admission')
      inner.addHook('onRequest', async (request, reply) => guard(request, reply, access, base))
      await inner.register(async people => {
        const [clicks, openPages] = [createBusyLimit(maxRequests), createBusyLimit(maxOpenPages)]
        // An open page requests itself again every second, with an `If-None-Match` header. A browser that opens a page does not send this header,
        // because it has not cached the page.
        const limitOf = ({ headers }: FastifyRequest): BusyLimit =>
          headers['if-none-match'] === undefined ? clicks : openPages
        limitRoutes(people, limitOf, reply => show(reply, bareDocument(busyPage(), base), 429))
        registerSite(people, { views, access, base, features })
        registerExit(people, access, base)
      })
      await inner.register(async programs => {
        const limit = createBusyLimit(maxRequests)
        limitRoutes(
          programs,
          () => limit,
          reply => reply.send({ message: busy }),
        )
        registerApi(programs, views.whole.routes, views.of)
        const routesOf = (request: FastifyRequest): readonly ApiRoute[] => views.of(admissionOf(request)).routes
        const tools = features.flatMap(one => one.tools ?? [])
        for (const one of features) one.programs?.(programs, { routesOf, tools })
      })
      await inner.register(async rest => {
        // The routes after this hook show all projects, so they are available only to people who may see all projects.
        rest.addHook('onRequest', async (request, reply) =>
          views.of(admissionOf(request)).isWhole ? undefined : reply.code(403).send({ message: notBound }),
        )
        for (const routes of guarded) await rest.register(routes)
      })
    })
  }
}

/**
 * Limits slow routes: each request starts in its own turn of the event loop, and gets a 429 response if too many are in progress. The limit applies
 * to the routes behind the guard that are registered after this call. `refuse` sends the 429 response.
 */
function limitRoutes(
  app: FastifyInstance,
  limitOf: (request: FastifyRequest) => BusyLimit,
  refuse: (reply: FastifyReply) => FastifyReply,
): void {
  const limited = new WeakSet<RouteHandlerMethod>()
  app.addHook('onRoute', route => {
    const { handler } = route
    // Fastify adds a HEAD route with the same handler for each GET route. The handler is wrapped only once.
    if (limited.has(handler)) return
    route.handler = async function (request, reply) {
      const answer = await limitOf(request).run(async () => {
        await handler.call(this, request, reply)
        return 'answered' as const
      })
      if (answer === 'refused') return refuse(reply.code(429).header('retry-after', String(retryAfter)))
      return reply
    }
    limited.add(route.handler)
  })
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
  // The admin listener has no TLS. If a proxy adds TLS, the proxy decides on HSTS for its host name.
  strictTransportSecurity: false,
  xFrameOptions: { action: 'deny' as const },
}

/**
 * Responds to requests for unknown addresses. A browser (a client that accepts HTML) gets a page without navigation, because the request has not
 * passed the guard.
 */
function registerNotFound(app: FastifyInstance, base: string): void {
  app.get('/*', { config: { isCatchAll: true } }, async (request, reply) => {
    const isForPeople = request.headers.accept?.includes('text/html') === true
    if (!isForPeople || addressOf(request, base).startsWith('/api/')) {
      reply.callNotFound()
      return reply
    }
    return show(
      reply,
      bareDocument(notFoundPage(html`Not found. Go to the <a href="${base}/">overview</a>.`), base),
      404,
    )
  })
}

const notBound = 'This page shows all projects, but your entry of admin.people allows only some. Use the admin token.'

/**
 * The time in ms for which the rendered content of open pages is shared between requests. Content this old does no harm, because open pages are only
 * updated every second.
 */
const openPageKeptMs = 1_000
const maxOpenPagesKept = 32

interface Shown {
  readonly page: Page
  readonly text: string
}

interface SiteParts {
  readonly views: ReturnType<typeof createViews>
  readonly access: Access
  readonly base: string
  readonly features: readonly ConsolePart[]
}

function registerSite(app: FastifyInstance, { views, access, base, features }: SiteParts): void {
  const readerOf = (request: FastifyRequest, address: string): RequestContext => {
    const admission = admissionOf(request)
    const [, query = ''] = address.split(/\?(.*)/s)
    const session = admission.by === 'session'
    const secret = access.secured() ? features.flatMap(one => one.secret?.()?.links ?? []) : []
    const links = [...secret, ...features.flatMap(one => one.links ?? [])]
    const { now, setup } = views.whole.parts
    return {
      ...{ base, address, query: new URLSearchParams(query), now: now(), session, links },
      may: mayChange(admission),
      seesDestinations: views.of(admission).isWhole,
      hasSeveralPlatforms: new Set(setup().platforms.map(({ url }) => url)).size > 1,
      person: admission.by === 'proxy' ? admission.person : undefined,
    }
  }
  const ofOpenPages = sharedAnswers<Shown>(openPageKeptMs, maxOpenPagesKept)
  for (const [index, { path }] of views.whole.site.entries()) {
    app.get(path, { config: forPeople }, async (request, reply) => {
      const context = readerOf(request, addressOf(request, base))
      const ids = Object.entries(request.params as Readonly<Record<string, string>>).map(
        ([name, text]) => [name, wholeNumber(text)] as const,
      )
      const asked = { ...Object.fromEntries(ids), instance: context.query.get('instance') ?? undefined }
      const own = ids.every(([, id]) => id !== undefined) ? views.of(admissionOf(request)).site[index] : undefined
      const read = async (): Promise<Shown> => {
        const page =
          (await own?.page(context, asked as never)) ?? notFoundPage('It was pruned, or no event about it has arrived.')
        return { page, text: document(page, context) }
      }
      // The cache key contains everything that affects how a page is rendered for a request and its user, except the time. So users with different
      // permissions or projects never share a cached page.
      const key = JSON.stringify({ ...context, query: undefined, now: undefined })
      const isOpenPage = request.headers['if-none-match'] !== undefined
      const { page, text } = await (isOpenPage ? ofOpenPages(key, read) : read())
      if (page.live === true) {
        // Open pages request themselves every second. With an ETag, an unchanged page gets a 304 response instead of being sent again.
        const tag = `"${createHash('sha256').update(text).digest('base64url')}"`
        void reply.header('etag', tag)
        if (request.headers['if-none-match'] === tag) return reply.code(304).send()
      }
      return show(reply, text, page.status ?? 200)
    })
  }
  app.post('/exports/do', async (request, reply) => {
    const form = formOf(request)
    const context = readerOf(request, '/exports')
    const admission = admissionOf(request)
    const { parts } = views.of(admission)
    const refuse = (status: number, page: Page): FastifyReply => show(reply, document(page, context), status)
    const toExports = (done: Readonly<Record<string, string | number>>): FastifyReply =>
      reply.redirect(addressWith(`${base}/exports`, done), 303)
    if (!isOurs(request, admission)) return refuse(403, refusedPage())
    const isNow = form.get('do') === 'now'
    if (context.may === 'nothing' || (context.may === 'own' && isNow)) return refuse(403, notAllowedPage())
    if (isNow) {
      const { due, probes } = await tryNow(parts, admission)
      return toExports({ done: 'now', count: due, probes })
    }
    const action = actionOf(form)
    if (action === undefined) return refuse(404, notFoundPage('There is no such action.'))
    return toExports({ done: action.verb, count: await perform(parts, action, admission) })
  })
}
