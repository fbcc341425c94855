// Limits the connections of a server, in all and of one address: those above are closed at once.
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { networkOf } from '../../lib/network-of.ts'

interface ConnectionLimits {
  readonly connections: number
  readonly ofAddress: number
  /** Called when one was closed. */
  readonly onRefused: () => void
}

/** Returns what closes connections that have not sent a byte. Node counts them as busy, and would wait for their timeout. */
export function limitConnections(server: Server | TlsServer, limits: ConnectionLimits): () => void {
  const { connections, ofAddress, onRefused } = limits
  const open = new Set<Socket>()
  const counts = new Map<string, number>()
  server.maxConnections = connections
  server.on('drop', onRefused)
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '')
    const count = (by: number): number => {
      const sum = (counts.get(network) ?? 0) + by
      if (sum === 0) counts.delete(network)
      else counts.set(network, sum)
      return sum
    }
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      count(-1)
    })
    if (count(1) <= ofAddress) return
    onRefused()
    socket.destroy()
  })
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
}
