// Limits HTTP pipelining. A client may send many requests on one connection without waiting for responses. A thousand of them fit into one read, and
// all would be answered before any other connection gets a turn. Neither platforms nor proxies pipeline requests.
import { setImmediate as later } from 'node:timers'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** The maximum number of requests per connection in one turn of the event loop. */
const maxRequests = 8

/** Wraps a server's request handlers, which share one counter. A connection that sends too many requests at once is closed. */
export function onceAtATime(): (handler: RequestListener) => RequestListener {
  const asked = new Map<Socket, number>()
  return handler => (request, response) => {
    const { socket } = request
    if (asked.size === 0) later(() => asked.clear())
    const times = (asked.get(socket) ?? 0) + 1
    asked.set(socket, times)
    if (times <= maxRequests) handler(request, response)
    else cutOff(socket)
  }
}

/**
 * Closes a socket and removes its parser. Otherwise the parser would still parse all requests that were already read, which takes about twenty times
 * as long as answering them. Node removes the parser in the same way, but later. If a Node version has no such parser, the remaining requests are
 * parsed needlessly.
 */
export function cutOff(socket: Socket & { parser?: { remove?: () => void } | null }): void {
  socket.parser?.remove?.()
  socket.destroy()
}
