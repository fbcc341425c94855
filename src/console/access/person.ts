// Identifies the person who has logged in at a proxy in front of the admin listener, by the header that the proxy sets.
//
// The header is trusted only if the connection itself comes from one of the listed proxies, because a request's claims about earlier senders prove
// nothing. The proxy must remove the header from the requests that it receives. A header that occurs twice, or that has no plausible value, is
// refused.
//
// A browser on the proxy's machine connects from the same address as the proxy. Any web site can point its name at this listener (DNS rebinding) and
// have the browser send the header. The site cannot choose the name in `Host`, so that name is checked. If host names are configured, it is checked
// for all proxies.
import { BlockList, isIPv4, type Socket } from 'node:net'
import { chooser } from '../../lib/chooser.ts'
import { hostNameOf, isLoopbackName } from './gate.ts'
import type { FastifyRequest } from 'fastify'

export type Role = 'viewer' | 'operator'

export interface Person {
  /** The person's name, which is the value of the proxy's header. */
  readonly name: string
  readonly role: Role
  /** The entry of admin.people that matches this person. */
  readonly entry: PeopleEntry
}

export interface PeopleEntry {
  /** Globs that match the names of people. */
  readonly who: readonly string[]
  readonly role: Role
  /** The projects that the people may see; undefined for all projects. */
  readonly projects?: ProjectChoice | undefined
}

export interface ProjectChoice {
  readonly include: readonly string[]
  readonly exclude: readonly string[]
}

export interface PeopleOptions {
  /** The name of the header that the proxy sets, in lower case. */
  readonly header: string
  /** The addresses and networks (`10.0.0.0/8`) of the trusted proxies. */
  readonly proxies: readonly string[]
  /**
   * The accepted host names, in lower case. If undefined, any name is accepted for a proxy on another machine. Loopback names are always accepted.
   */
  readonly hosts?: readonly string[] | undefined
  /** The entries of admin.people. The first entry that matches a person applies. */
  readonly people: readonly PeopleEntry[]
}

/**
 * Identifies the person of a request. `absent`: the request does not come from a proxy with the header. `other host`: the request is to a host name
 * that is not ours.
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

/** Whether a connection comes from this machine. Also true if this machine connects to itself through an address that is not a loopback address. */
function isThisMachine({ remoteAddress = '', localAddress }: Pick<Socket, 'remoteAddress' | 'localAddress'>): boolean {
  return remoteAddress === localAddress || isLoopbackName(isIPv4(remoteAddress) ? remoteAddress : `[${remoteAddress}]`)
}

function isOurName([host, ...more]: readonly string[], hosts: readonly string[] = []): boolean {
  return more.length === 0 && (isLoopbackName(host) || hosts.includes(hostNameOf(host)))
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}
