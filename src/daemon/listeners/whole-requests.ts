// Delays a response until the whole request has arrived. If no route reads the rest of the body, it is read and discarded.
//
// Closing a connection with unread input resets it, and the reset may overtake the response. This happens with platforms: they request that each
// connection be closed, and read nothing until they have sent everything. A timeout aborts requests that never complete.
import type { FastifyInstance, FastifyRequest } from 'fastify'

const answered = new WeakSet<FastifyRequest>()

/** Delays an application's responses until their requests are complete. It must be called before other hooks are added. */
export function answerWholeRequests(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { raw } = request
    answered.add(request)
    if (raw.complete || raw.destroyed) {
      done(null, payload)
    } else if (asksFirst(request)) {
      // A sender that waits for `100 Continue` may omit the body once it has this response, so the connection cannot be reused.
      void reply.header('connection', 'close')
      done(null, payload)
    } else {
      const go = (): void => {
        raw.off('end', go).off('close', go)
        done(null, payload)
      }
      raw
        .once('end', go)
        .once('close', go)
        .once('error', () => undefined)
        .resume()
    }
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    // Fastify considers a request unanswered until the response is sent. If the sender disconnects before that, Fastify would continue after the hook
    // that rejected the request and run the route. Without a call to `done`, the request ends here.
    if (answered.has(request)) return
    if (asksFirst(request) && !request.is404) reply.raw.writeContinue()
    done(null, payload)
  })
}

/** Whether the sender waits for `100 Continue` before sending the body. */
function asksFirst({ headers }: FastifyRequest): boolean {
  return headers.expect?.toLowerCase() === '100-continue'
}
