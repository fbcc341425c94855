// An answer waits until its request has arrived, as far as nobody wants the rest of its body: that is read and discarded.
//
// If a connection with unread input is closed, it is reset, and the reset may overtake the answer. Platforms ask for closing with each request, and
// read nothing before they have sent all. A request that never ends is ended by its timeout.
import type { FastifyInstance, FastifyRequest } from 'fastify'

const answered = new WeakSet<FastifyRequest>()

/** Call it before other hooks are added. */
export function answerWholeRequests(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { raw } = request
    answered.add(request)
    if (raw.complete || raw.destroyed) {
      done(null, payload)
    } else if (asksFirst(request)) {
      // It may now send no body.
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
    // For Fastify a request is unanswered until the answer is sent. If the sender disconnects before, Fastify would go on after the hook that refused
    // it, and run the route: not calling `done` ends it here.
    if (answered.has(request)) return
    if (asksFirst(request) && !request.is404) reply.raw.writeContinue()
    done(null, payload)
  })
}

/** It waits for `100 Continue` before it sends the body. */
function asksFirst({ headers }: FastifyRequest): boolean {
  return headers.expect?.toLowerCase() === '100-continue'
}
