// Requests that one connection sends in one breath, without waiting for an answer: a thousand fit into what is read at once, and would
// all be answered before anybody else has a turn. Neither platforms nor proxies do that.
import { setImmediate as later } from 'node:timers'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection in one turn of the event loop. */
const most = 8

/** One count for all handlers of a server; a connection that sends more is closed. */
export function onceAtATime(): (handler: RequestListener) => RequestListener {
  const asked = new Map<Socket, number>()
  return handler => (request, response) => {
    const { socket } = request
    if (asked.size === 0) later(() => asked.clear())
    const times = (asked.get(socket) ?? 0) + 1
    asked.set(socket, times)
    if (times <= most) handler(request, response)
    else cutOff(socket)
  }
}

/**
 * A socket that is closed reads no more, but what was read already would still be parsed, request by request: that alone takes some
 * twenty times as long as the answers. Node's own end of a connection stops its parser so, later; should a version of it have none to
 * stop, the rest is parsed for nothing.
 */
export function cutOff(socket: Socket & { parser?: { remove?: () => void } | null }): void {
  socket.parser?.remove?.()
  socket.destroy()
}
