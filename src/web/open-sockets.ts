// Limits the connections of a server: when there are too many, one is closed for each new one.
//
// Connections that have shown the secret are never closed. Of the others, one of the oldest is: a sender with a token shows it within
// one round trip, so a connection that is older than many others probably has none. A signature is checked only when the whole body
// has arrived; so among the oldest few, the one that has sent the least is closed, and a large delivery under way is kept. Connections
// from addresses that have shown the secret before are closed last. So idle strangers cannot shut anybody out: to displace an honest
// sender, as many strangers as there may be connections must arrive between its first packet and its second.
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Connection, ProvenPeers } from '../lib/proven-peers.ts'

interface SocketLimits {
  /** Maximum number of connections. */
  readonly limit: number
  readonly peers: ProvenPeers
  /** Called when one was closed to make room. */
  readonly onEvicted: () => void
}

/** Among how many of the oldest the one that has sent the least is chosen; at most an eighth of all connections. */
const maxCompared = 16

/** Returns what closes connections that have not sent a byte. Node counts them as busy, and would wait for their timeout. */
export function limitSockets(server: Server | TlsServer, { limit, peers, onEvicted }: SocketLimits): () => void {
  const open = new Map<string, Socket>()
  const compared = Math.max(1, Math.min(maxCompared, Math.floor(limit / 8)))
  /** Those that have not shown the secret, oldest first. */
  const strangers = new Set<Socket>()
  const known = new Set<Socket>()
  /** Remembered, because a closed socket no longer has its addresses. */
  const names = new WeakMap<Socket, string>()

  function forget(socket: Socket): void {
    const name = names.get(socket) ?? ''
    // The same port may have connected again before this socket's close event.
    if (open.get(name) === socket) open.delete(name)
    strangers.delete(socket)
    known.delete(socket)
  }

  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    open.set(name, socket)
    names.set(socket, name)
    const rest = peers.knows(socket, socket.remoteAddress) ? known : strangers
    rest.add(socket)
    socket.once('close', () => forget(socket))
    if (open.size > limit) evictOne()
  })
  // With TLS, a request's socket is another object than the accepted one. Both have the same name.
  peers.onProved(connection => {
    const socket = open.get(nameOf(connection))
    if (socket === undefined) return
    strangers.delete(socket)
    known.delete(socket)
  })

  /** The new connection is among them: it is closed if all others have shown the secret. */
  function evictOne(): void {
    let least: Socket | undefined
    let left = compared
    for (const socket of strangers.size > 0 ? strangers : known) {
      if (least === undefined || socket.bytesRead < least.bytesRead) least = socket
      left -= 1
      if (left === 0) break
    }
    if (least === undefined) return
    onEvicted()
    forget(least)
    least.destroy()
  }

  return () => {
    for (const socket of open.values()) if (socket.bytesRead === 0) socket.destroy()
  }
}

/** Unique among open connections. */
function nameOf({ remoteAddress, remotePort, localAddress }: Connection): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
