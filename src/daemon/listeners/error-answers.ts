// Sends all responses that do not come from a route, as short JSON without details. Some respond to unknown paths, wrong methods and errors. Others
// are written directly to the socket, for requests that never reach a route. The rest replace responses that Node would send by itself, bypassing our
// limits.
import type { FastifyError, FastifyInstance } from 'fastify'
import type { Log } from '../../lib/log.ts'
import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const messages: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  413: 'The body is too large.',
  415: 'The content type is not supported.',
}

/** Marks a catch-all route. The methods of such a route do not count as allowed on other paths. */
interface CatchAllRoute {
  readonly isCatchAll?: boolean
}

/**
 * Registers the error responses. It must be called before routes are registered, because it collects the allowed methods of each path as they are
 * registered.
 */
export function answerErrors(app: FastifyInstance, log: Log): void {
  const methodsOf = new Map<string, Set<string>>()
  // By default, Fastify responds to QUERY without a body with 400 before it looks for a route. No route here accepts QUERY, so registering the method
  // makes the response 404 or 405.
  app.addHttpMethod('QUERY', { overrideExisting: true })
  app.addHook('onRoute', ({ url, method, config }) => {
    if ((config as CatchAllRoute | undefined)?.isCatchAll === true) return
    const methods = methodsOf.get(url) ?? new Set()
    methodsOf.set(url, methods)
    for (const each of [method].flat()) methods.add(each)
  })
  app.setNotFoundHandler((request, reply) => {
    const path = (request.url.split('?', 1)[0] ?? '').replace(/(?<=.)\/$/, '')
    const allowed = [...methodsOf].filter(([route]) => matchesRoute(route, path)).flatMap(([, methods]) => [...methods])
    if (allowed.length === 0) return reply.code(404).send({ message: 'Not found.' })
    return reply
      .code(405)
      .header('allow', [...new Set(allowed)].sort().join(', '))
      .send({ message: `${request.method} is not allowed here.` })
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 400 && status < 500) {
      return reply.code(status).send({ message: messages[status] ?? 'The request failed.' })
    }
    log.error({ err: error, requestId: request.id, route: request.routeOptions.url }, 'a request failed')
    return reply.code(500).send({ message: 'Internal error; see the log.' })
  })
}

/** Whether a path matches a route in Fastify's syntax, with `:name` and `*`. */
function matchesRoute(route: string, path: string): boolean {
  const wanted = route.split('/')
  const given = path.split('/')
  if (wanted.at(-1) === '*') return given.length >= wanted.length && wanted.slice(0, -1).every(matchesSegment)
  return wanted.length === given.length && wanted.every(matchesSegment)

  function matchesSegment(part: string, at: number): boolean {
    return part === given[at] || (part.startsWith(':') && given[at] !== '')
  }
}

/**
 * Handles Node's `clientError`: invalid HTTP, or a timeout. It sends a response if the sender can still understand one. Then it closes the
 * connection.
 */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  // If bytes were already sent, they may be part of a response. The sender would interpret another response as the rest of it.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const [status, message] = answerTo(error.code)
  const body = JSON.stringify({ message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n` +
      `Connection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/** Wraps a handler so that requests without a Host header are rejected. HTTP/1.1 requires the header (RFC 9112, section 3.2). */
export function withHost(handler: RequestListener): RequestListener {
  return (request, response) => {
    const isNamed = request.headers.host !== undefined || request.httpVersion !== '1.1'
    if (isNamed) handler(request, response)
    else refuse(response, 400, 'The request has no Host header.')
  }
}

/** Responds to requests with any expectation other than `100-continue` (RFC 9110, section 10.1.1). */
export const answerExpectation: RequestListener = (_request, response) => {
  refuse(response, 417, 'The Expect header is not supported.')
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ message })
  const type = 'application/json; charset=utf-8'
  response.writeHead(status, { connection: 'close', 'content-type': type, 'content-length': body.length }).end(body)
}

function answerTo(code: string | undefined): readonly [string, string] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['408 Request Timeout', 'The request timed out.']
    case 'HPE_HEADER_OVERFLOW':
      return ['431 Request Header Fields Too Large', 'The headers are too large.']
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return ['413 Content Too Large', 'The body is too large.']
    default:
      return ['400 Bad Request', 'The request is malformed.']
  }
}
