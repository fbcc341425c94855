// The connections of a server: how many there may be, and which one is closed for a new one when there are as many.
//
// Whoever has shown the secret keeps the connection. Of the others one of the oldest goes, whatever it is doing: with a token a sender
// needs one round trip to show the secret, and whoever waits longer than as many others need to come has nothing to show. A signature is
// shown when the whole body is there: so of the oldest few the one goes that has sent the least, and a large delivery on its way stays
// where others only wait. Those from an address where the secret was right before go last. So idle strangers shut nobody out, and an
// honest newcomer is only turned away by as many strangers as there is room for, between its first packet and its second.
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Connection, ProvenPeers } from '../lib/proven-peers.ts'

export interface OpenSockets {
  /** Closes those that have not sent a byte. Node counts them as busy, and would wait for their time-out. */
  closeUnused(): void
}

export interface OpenSocketsOptions {
  /** Connections at once. */
  readonly limit: number
  readonly peers: ProvenPeers
  /** One was closed to make room. */
  readonly onEvicted: () => void
}

/** Of how many of the oldest the one is closed that has sent the least; an eighth of all connections at most. */
const mostCompared = 16

export function openSockets(server: Server | TlsServer, { limit, peers, onEvicted }: OpenSocketsOptions): OpenSockets {
  const open = new Map<string, Socket>()
  const compared = Math.max(1, Math.min(mostCompared, Math.floor(limit / 8)))
  /** Those that have not shown the secret, the oldest first. */
  const strangers = new Set<Socket>()
  const known = new Set<Socket>()
  /** A socket that is closed has no addresses any more. */
  const names = new WeakMap<Socket, string>()

  function forget(socket: Socket): void {
    const name = names.get(socket) ?? ''
    // Its port may have come back before its end was seen.
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
  // Under TLS a request's socket is another one than was accepted: both have the same name.
  peers.onProved(connection => {
    const socket = open.get(nameOf(connection))
    if (socket === undefined) return
    strangers.delete(socket)
    known.delete(socket)
  })

  /** The newcomer is among them: where all others are proven, it is the one. */
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

  return {
    closeUnused: () => {
      for (const socket of open.values()) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}

/** Unique among open connections. */
function nameOf({ remoteAddress, remotePort, localAddress }: Connection): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
