// Who has shown the secret on a listener: its connections, and their addresses for as long as there is room to remember them. Where
// there is not enough for all, they come before strangers. It lets nobody in: a secret is asked for every time all the same.
import { isIPv6 } from 'node:net'

/** A socket, as far as it matters here. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
}

export interface ProvenPeers {
  /** The secret was right. `address`: where the request came from, which a proxy may have named. */
  proved(connection: Connection, address: string): void
  /** Whether it was right before, on this connection or from this address. */
  knows(connection: Connection, address: string | undefined): boolean
  /** Called for each connection once, when it has shown the secret. */
  onProved(listener: (connection: Connection) => void): void
}

/** Addresses remembered; the one that proved itself longest ago is forgotten first. */
const most = 4_096

export function createProvenPeers(): ProvenPeers {
  /** And the address that each of them showed the secret from last. */
  const connections = new WeakMap<Connection, string>()
  const networks = new Set<string>()
  const listeners: ((connection: Connection) => void)[] = []

  function remember(address: string | undefined): void {
    if (address === undefined) return
    const network = networkOf(address)
    networks.delete(network)
    networks.add(network)
    const [oldest] = networks
    if (networks.size > most && oldest !== undefined) networks.delete(oldest)
  }

  return {
    proved: (connection, address) => {
      const before = connections.get(connection)
      if (before === address) return
      connections.set(connection, address)
      remember(connection.remoteAddress)
      if (address !== connection.remoteAddress) remember(address)
      if (before === undefined) for (const each of listeners) each(connection)
    },
    knows: (connection, address) =>
      connections.has(connection) || (address !== undefined && networks.has(networkOf(address))),
    onProved: listener => void listeners.push(listener),
  }
}

/** An IPv4 address, also one mapped into IPv6, as it is; of an IPv6 address its /64, within which a host chooses its own ever anew. */
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
