// The connections and addresses from which a listener has received the right secret. When connections or memory run short, they are
// served before strangers. It grants no access: every request must still show the secret.
import { isIPv6 } from 'node:net'
import { remember } from './bounded-map.ts'

/** The part of a socket that is needed here. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
}

export interface ProvenPeers {
  /** To be called when the secret was right. `address`: that of the client, which a proxy may have forwarded. */
  proved(connection: Connection, address: string): void
  /** Whether the secret was right before, on this connection or from this address. */
  knows(connection: Connection, address: string | undefined): boolean
  /** Called once for each connection that has shown the secret. */
  onProved(listener: (connection: Connection) => void): void
}

/** The address that proved itself longest ago is forgotten first. */
const maxAddresses = 4_096

export function createProvenPeers(): ProvenPeers {
  /** With the address from which each of them last showed the secret. */
  const connections = new WeakMap<Connection, string>()
  const networks = new Map<string, true>()
  const listeners: ((connection: Connection) => void)[] = []

  return {
    proved: (connection, address) => {
      const before = connections.get(connection)
      if (before === address) return
      connections.set(connection, address)
      for (const one of [connection.remoteAddress, address]) {
        if (one !== undefined) remember(networks, networkOf(one), true, maxAddresses)
      }
      if (before === undefined) for (const each of listeners) each(connection)
    },
    knows: (connection, address) =>
      connections.has(connection) || (address !== undefined && networks.has(networkOf(address))),
    onProved: listener => void listeners.push(listener),
  }
}

/** An IPv4 address as it is (`::ffff:10.0.0.1` is one, too); of an IPv6 address its /64 network, within which a host often changes its address. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  // Four groups are the network; `::` stands for as many zeros as are missing.
  const behind = tail === undefined || tail === '' ? [] : tail.split(':')
  const length = [...groups, ...behind].reduce((sum, group) => sum + (group.includes('.') ? 2 : 1), 0)
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - length)).fill('0')
  const network = [...groups, ...zeros, ...behind].slice(0, 4)
  return `${network.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
