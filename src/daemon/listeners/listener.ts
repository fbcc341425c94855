// An HTTP listener: an address, limits, and the routes that other modules register.
import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { fastify, type FastifyInstance, type FastifyPluginAsync, type FastifyReply } from 'fastify'
import { ConfigError, reasonOf } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import { answerErrors, answerExpectation, answerMalformed, withHost } from './error-answers.ts'
import { after } from '../../lib/timer.ts'
import { networkOf } from '../../lib/network-of.ts'
import { onceAtATime } from './once-at-a-time.ts'
import { answerWholeRequests } from './whole-requests.ts'

export interface Limits {
  /** The timeout for a request's headers, ms. Sending them takes one round trip; a sender that needs longer only ties up a connection. */
  readonly headers: number
  /** The timeout for the whole request, ms. It is twice the platform's own timeout of 10 s. */
  readonly request: number
  /**
   * The time after which an idle connection is closed, ms. It is longer than in proxies (60 s), so that no proxy sends a request on a connection that
   * is being closed.
   */
  readonly keepAlive: number
  /**
   * The maximum number of connections. Additional connections are closed immediately. A connection needs about 20 kB of memory, or 80 kB once the
   * first piece of a body has arrived. The number of waiting bodies has its own limit.
   */
  readonly connections: number
  /**
   * The maximum number of connections from one address; by default, a quarter of all connections. It applies only if no proxy is trusted, because all
   * connections through a proxy have the proxy's address.
   */
  readonly connectionsOfAddress?: number | undefined
}

/**
 * The maximum number of connections waiting to be accepted (the backlog, which the system may limit further). It is larger than a listener's maximum
 * number of connections, because the system drops connections beyond the backlog, and a well-behaved sender then retries only after 1, 3, 7, 15 s.
 */
const queued = 4_096

export const defaultLimits: Limits = { headers: 10_000, request: 20_000, keepAlive: 75_000, connections: 2_048 }

/** The certificate chain and the private key, as PEM. */
export interface TlsFiles {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface ListenerOptions {
  /** The listener's name in the log: `public` or `admin`. */
  readonly name: string
  /** The address or host name to listen on. IPv6 addresses are written without brackets; `::` is dual stack. */
  readonly host: string
  /** If the port is 0, the system chooses a free one. */
  readonly port: number
  readonly tls?: TlsFiles | undefined
  /** The prefix of every route, such as `/pipespan`, if a reverse proxy passes it through. */
  readonly basePath?: string | undefined
  /** The proxies whose `X-Forwarded-*` headers are trusted: all, none, or those with the listed addresses. */
  readonly trustProxy: boolean | string
  /** The listener's health check routes. They respond with and without the base path. */
  readonly health: FastifyPluginAsync
  readonly log: Log
  readonly limits?: Partial<Limits> | undefined
}

/**
 * Routes registered by another module: `async app => { app.get('/runs', …) }`. Paths are relative to the base path. Bodies are parsed only if the
 * plugin adds a parser.
 */
export type Routes = FastifyPluginAsync

export interface Listener {
  /** Registers routes. May only be called before `start`. */
  register(routes: Routes): void
  /** Starts listening. Throws a ConfigError if it cannot listen on the address. `url` ends with the base path, without a trailing slash. */
  start(): Promise<{ readonly host: string; readonly port: number; readonly url: string }>
  /** Stops accepting connections, closes idle connections, waits for requests in flight, and closes all remaining connections after `withinMs`. */
  stop(withinMs: number): Promise<void>
  /**
   * Uses a renewed certificate for new connections. If the renewed certificate is unusable, it throws a ConfigError and continues to use the old one.
   */
  renewTls(tls: TlsFiles): void
}

export function createListener(options: ListenerOptions): Listener {
  const { name, log } = options
  const basePath = pathOf(options.basePath)
  const limits = { ...defaultLimits, ...options.limits }
  const server = createNodeServer(options.tls, limits)
  const warn = sparseWarnings(log, () => performance.now())
  const { connections, connectionsOfAddress = Math.ceil(connections / 4) } = limits
  const closeUnused = limitConnections(server, {
    connections,
    ofAddress: options.trustProxy === false ? connectionsOfAddress : connections,
    onRefused: () => warn('connections', 'too many open connections: a new connection is closed', { listener: name }),
  })
  server.on('error', error => {
    // Errors that occur before the server is listening are reported by `start`. A later error means that one connection could not be accepted, but
    // the next one may be.
    if (server.listening)
      warn('accept', 'a connection could not be accepted', { listener: name, cause: reasonOf(error) })
  })
  const app = createApp(options, server)
  let stopping = false
  app.addHook('onSend', (_request, reply, payload, done) => {
    // While stopping, each response closes its connection, because a connection that stays open would delay the stop.
    if (stopping) void reply.header('connection', 'close')
    done(null, payload)
  })
  void app.register(options.health)
  if (basePath !== '') void app.register(options.health, { prefix: basePath })

  function failed(error: unknown): void {
    warn('failed', 'an error on a connection; the listener continues', { listener: name, cause: reasonOf(error) })
  }

  return {
    register: routes => void app.register(routes, { prefix: basePath }),
    start: async () => {
      try {
        await app.listen({ host: options.host, port: options.port, backlog: queued })
      } catch (error) {
        await app.close()
        if (!isSystemError(error)) throw error
        throw new ConfigError(
          `The ${name} listener cannot bind ${authority(options.host, options.port)}: ${reasonOf(error)}.`,
          'Use another address, or stop the process that uses it.',
          { cause: error },
        )
      }
      const { port } = server.address() as AddressInfo
      const url = `${options.tls === undefined ? 'http' : 'https'}://${authority(options.host, port)}${basePath}`
      log.info({ listener: name, url }, 'listening')
      return { host: options.host, port, url }
    },
    stop: async withinMs => {
      stopping = true
      closeUnused()
      const cut = after(withinMs, () => server.closeAllConnections(), failed)
      try {
        await app.close()
      } finally {
        cut.stop()
      }
    },
    renewTls: tls => {
      if ('setSecureContext' in server) withConfigErrors(() => server.setSecureContext({ ...tls }))
    },
  }
}

/** Creates a Fastify application on the server, with JSON errors, no parsers, and its own request IDs. */
function createApp({ name, log, trustProxy }: ListenerOptions, server: Server | TlsServer): FastifyInstance {
  const app = fastify({
    serverFactory: handler => {
      const once = onceAtATime()
      server.on('request', once(withHost(handler)))
      // A sender that waits for permission to send a body (Expect: 100-continue) may continue only if a route reads the body.
      server.on('checkContinue', once(withHost(handler)))
      server.on('checkExpectation', once(answerExpectation))
      return server
    },
    trustProxy,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    // No route has a schema, so the schema compilers do not have to be loaded.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    genReqId: () => randomUUID(),
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, _request, reply: FastifyReply) => {
      void reply.code(error.statusCode ?? 400).send({ message: 'The request is malformed.' })
    },
  })
  app.removeAllContentTypeParsers()
  answerErrors(app, log)
  answerWholeRequests(app)
  app.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method, routeOptions } = request
    log.debug(
      { listener: name, requestId, method, route: routeOptions.url, status: reply.statusCode, ms: reply.elapsedTime },
      'answered',
    )
    done()
  })
  return app
}

function noSchemas(): never {
  throw new Error('routes have no schemas here')
}

/**
 * Uses `getBuiltinModule`, because importing `node:http` evaluates all of its exports. One of them, WebSocket, loads an
 * HTTP client, which takes 30 ms at the start of each thread.
 */
function createNodeServer(tls: TlsFiles | undefined, limits: Limits): Server | TlsServer {
  const settings = {
    headersTimeout: limits.headers,
    requestTimeout: limits.request,
    keepAliveTimeout: limits.keepAlive,
    // Node's own response to a missing Host header would bypass our limits; see `withHost`.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.min(1_000, limits.headers, limits.request),
  }
  return tls === undefined
    ? process.getBuiltinModule('node:http').createServer(settings)
    : withConfigErrors(() =>
        process.getBuiltinModule('node:https').createServer({ ...settings, ...tls, handshakeTimeout: limits.headers }),
      )
}

/** Runs a function that reads a certificate. OpenSSL errors are converted to a ConfigError. */
function withConfigErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new ConfigError(
      `The TLS certificate and key cannot be used: ${reasonOf(error)}.`,
      'Provide a PEM certificate chain and its unencrypted PEM key.',
      { cause: error },
    )
  }
}

interface ConnectionLimits {
  readonly connections: number
  readonly ofAddress: number
  /** Called when a connection was closed for exceeding the limits. */
  readonly onRefused: () => void
}

/**
 * Limits connections. Returns a function that closes connections that have not sent a byte: Node considers them busy and would wait for their
 * timeout.
 */
function limitConnections(server: Server | TlsServer, limits: ConnectionLimits): () => void {
  const { connections, ofAddress, onRefused } = limits
  const open = new Map<Socket, string>()
  server.maxConnections = connections
  server.on('drop', onRefused)
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '')
    open.set(socket, network)
    socket.once('close', () => open.delete(socket))
    if ([...open.values()].filter(one => one === network).length <= ofAddress) return
    onRefused()
    socket.destroy()
  })
  return () => {
    for (const socket of open.keys()) if (socket.bytesRead === 0) socket.destroy()
  }
}

function pathOf(basePath: string | undefined): string {
  const bare = basePath?.replace(/^\/+|\/+$/g, '') ?? ''
  return bare === '' ? '' : `/${bare}`
}

function authority(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
