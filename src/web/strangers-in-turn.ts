// Limits requests on connections that have not shown the secret ("strangers"): a few are served in each turn of the event loop, the
// connections taking turns.
//
// The reason: one turn accepts one new connection. If each turn also answered a thousand strangers, the five hundredth new connection
// would wait for minutes. Connections that have shown the secret are served at once.
import { setImmediate as later } from 'node:timers'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { ProvenPeers } from '../lib/proven-peers.ts'
import { cutOff } from './once-at-a-time.ts'

/** Requests of strangers in one turn: less than a millisecond of work, and more than usually arrive in a turn. */
const most = 4
/** Waiting requests of a connection; beyond that it is closed. */
const maxOfOne = 8

/** The handlers of a server share one queue. */
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
    if (before.push(() => handler(request, response)) > maxOfOne) cutOff(socket)
    else waiting.set(socket, before)
  }
}
