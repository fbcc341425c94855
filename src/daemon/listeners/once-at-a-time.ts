// Limits HTTP pipelining. A connection may send many requests without waiting for answers. A thousand requests fit into one read, and all of them
// would be answered before any other connection has its turn. Neither platforms nor proxies do that.
import { setImmediate as later } from 'node:timers'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** The maximum number of requests of one connection in one turn of the event loop. */
const maxRequests = 8

/** Wraps the handlers of a server, which share one counter. A connection that sends more requests is closed. */
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
 * Closes a socket and stops its parser. Otherwise all requests that have already been read would still be parsed, which takes some twenty times as
 * long as answering them. Node itself removes the parser in this way, but later. If a version of Node has no such parser, the remaining requests are
 * parsed in vain.
 */
export function cutOff(socket: Socket & { parser?: { remove?: () => void } | null }): void {
  socket.parser?.remove?.()
  socket.destroy()
}
