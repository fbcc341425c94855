// Requests on connections that have not shown the secret: some of them in each turn of the event loop, the others wait, and each
// connection has its turn.
//
// A turn accepts one new connection. Were a thousand strangers answered in each, a newcomer behind five hundred others would wait for
// minutes before it is accepted. Whoever has shown the secret waits for nobody.
import { setImmediate as later } from 'node:timers'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { ProvenPeers } from '../lib/proven-peers.ts'
import { cutOff } from './once-at-a-time.ts'

/** Requests of strangers in one turn of the event loop: less than a millisecond of answers, and more than come in a turn otherwise. */
const most = 4
/** Requests of one connection that wait; beyond it, it is closed. */
const mostOfOne = 8

/** One queue for all handlers of a server. */
export function strangersInTurn(peers: ProvenPeers): (handler: RequestListener) => RequestListener {
  const waiting = new Map<Socket, (() => void)[]>()
  let served = 0

  function next(): void {
    served = 0
    for (const [socket, requests] of waiting) {
      if (served === most) break
      waiting.delete(socket)
      if (socket.destroyed) continue
      served += 1
      const serve = requests.shift()
      if (requests.length > 0) waiting.set(socket, requests)
      serve?.()
    }
    if (served > 0) later(next)
  }

  return handler => (request, response) => {
    const { socket } = request
    if (peers.knows(socket, undefined)) {
      handler(request, response)
      return
    }
    if (served === 0 && waiting.size === 0) later(next)
    if (served < most && waiting.size === 0) {
      served += 1
      handler(request, response)
      return
    }
    const before = waiting.get(socket) ?? []
    if (before.push(() => handler(request, response)) > mostOfOne) cutOff(socket)
    else waiting.set(socket, before)
  }
}
