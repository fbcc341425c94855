// Determines the network to which per-sender limits apply: a whole /64 network instead of a single IPv6 address, because a sender usually owns all of
// it.
import { isIPv6 } from 'node:net'

/** Returns an IPv4 address unchanged (`::ffff:10.0.0.1` is one, too), and the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  // The first four groups are the network. `::` stands for as many zero groups as are missing.
  const behind = tail === undefined || tail === '' ? [] : tail.split(':')
  const length = [...groups, ...behind].reduce((sum, group) => sum + (group.includes('.') ? 2 : 1), 0)
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - length)).fill('0')
  const network = [...groups, ...zeros, ...behind].slice(0, 4)
  return `${network.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
