// The connections of a server on which nothing was asked yet: browsers and load balancers open some ahead of need.
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'

export interface OpenSockets {
  /** Closes those that have not sent a byte. Node counts them as busy, and would wait for their time-out. */
  closeUnused(): void
}

export function openSockets(server: Server | TlsServer): OpenSockets {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return {
    closeUnused: () => {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}
