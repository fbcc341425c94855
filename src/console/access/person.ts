// Identifies the person who is logged in at a proxy in front of the admin listener, by the header that the proxy sets.
//
// The header is trusted only if the connection itself comes from one of the configured proxies, because any client can forge headers that name
// earlier senders. The proxy must remove this header from incoming requests. A header that occurs twice or has no plausible value is rejected.
//
// A browser on the proxy's machine connects from the same address as the proxy. Any web site can point its name at this listener (DNS rebinding) and
// have the browser send the header. The site cannot choose the name in `Host`, so that name is checked. If host names are configured, `Host` is
// checked for all proxies.
import { BlockList, isIPv4, type Socket } from 'node:net'
import { chooser } from '../../lib/chooser.ts'
import { hostNameOf, isLoopbackName } from './gate.ts'
import type { FastifyRequest } from 'fastify'

export type Role = 'viewer' | 'operator'

export interface Person {
  /** The person's name, as sent in the proxy's header. */
  readonly name: string
  readonly role: Role
  /** The entry of admin.people that matches this person. */
  readonly entry: PeopleEntry
}

export interface PeopleEntry {
  /** Glob patterns for the names of the people whom this entry applies to. */
  readonly who: readonly string[]
  readonly role: Role
  /** The projects that these people may see; undefined for all projects. */
  readonly projects?: ProjectChoice | undefined
}

export interface ProjectChoice {
  readonly include: readonly string[]
  readonly exclude: readonly string[]
}

export interface PeopleOptions {
  /** The name of the header that the proxy sets, in lower case. */
  readonly header: string
  /** The addresses and networks (such as `10.0.0.0/8`) of the trusted proxies. */
  readonly proxies: readonly string[]
  /** The accepted host names, in lower case. If undefined, proxies on other machines may use any host name. Loopback names are always accepted. */
  readonly hosts?: readonly string[] | undefined
  /** The entries of admin.people. The first entry that matches a person applies. */
  readonly people: readonly PeopleEntry[]
}

/**
 * Identifies the person behind a request. `absent`: the request does not come from a trusted proxy, or has no such header. `other host`: the request
 * uses a host name that is not accepted.
 */
export type Identify = (request: Pick<FastifyRequest, 'raw'>) => Person | 'absent' | 'nobody' | 'other host'

const maxNameLength = 254

export function identifier({ header, proxies, hosts, people }: PeopleOptions): Identify {
  const trusted = new BlockList()
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(bits), family)
  }
  const entries = people.map(entry => ({ entry, matches: chooser({ include: entry.who }) }))
  return ({ raw }) => {
    const { remoteAddress = '' } = raw.socket
    const values = valuesOf(raw.rawHeaders, header)
    const isFromProxy = remoteAddress !== '' && trusted.check(remoteAddress, isIPv4(remoteAddress) ? 'ipv4' : 'ipv6')
    if (!isFromProxy || values.length === 0) return 'absent'
    if ((hosts !== undefined || isThisMachine(raw.socket)) && !isOurName(valuesOf(raw.rawHeaders, 'host'), hosts))
      return 'other host'
    const [name = ''] = values
    if (values.length > 1 || name.length > maxNameLength || !/^[^\s,\p{C}]+$/u.test(name)) return 'nobody'
    const entry = entries.find(({ matches }) => matches(name))?.entry
    return entry === undefined ? 'nobody' : { name, role: entry.role, entry }
  }
}

/** Whether a connection comes from this machine. Also true if the machine connects to itself through a non-loopback address. */
function isThisMachine({ remoteAddress = '', localAddress }: Pick<Socket, 'remoteAddress' | 'localAddress'>): boolean {
  return remoteAddress === localAddress || isLoopbackName(isIPv4(remoteAddress) ? remoteAddress : `[${remoteAddress}]`)
}

function isOurName([host, ...more]: readonly string[], hosts: readonly string[] = []): boolean {
  return more.length === 0 && (isLoopbackName(host) || hosts.includes(hostNameOf(host)))
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}
