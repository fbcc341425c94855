// Setting types for addresses: URLs, listen addresses, proxies, the store, and the path behind a reverse proxy.
import { BlockList, isIP } from 'node:net'
import { Secret } from '../../lib/secret.ts'
import { quoted, type Wrong } from './config-fault.ts'
import { kind, line, refusing, scalar } from './kind.ts'

/** An http or https URL. It is stored as the operator wrote it. */
export const webUrl = line.regex(/^https?:\/\/\S+$/i).refine(url => URL.canParse(url), { abort: true })

export function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url)
  return username + password !== ''
}

/** A URL without credentials, because the URL is logged and shown. */
export const httpUrl = kind(
  webUrl
    .superRefine(
      refusing(url =>
        hasCredentials(url)
          ? {
              what: `${quoted(url)} carries credentials.`,
              remedy: 'Remove them from the URL; use a header or a token.',
            }
          : undefined,
      ),
    )
    .meta({ format: 'uri' }),
  { noun: 'an http or https URL', remedy: 'Write it in full, such as https://example.com.' },
)

export interface ListenAddress {
  /** A host name or an IP address without brackets. */
  readonly host: string
  /** If the port is 0, the system chooses a free one. */
  readonly port: number
}

export const listenAddress = scalar<ListenAddress>({
  noun: 'a listen address',
  remedy: 'Write host and port, such as 127.0.0.1:8080, or "[::]:8080" in quotes for every address.',
  read: given => {
    const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(given) ?? []
    const host = bracketed ?? plain
    const port = Number(digits)
    if (host === undefined || port > 65_535) return undefined
    const fits = bracketed === undefined ? isHostName(host) : isIP(host) === 6
    return fits ? { host, port } : undefined
  },
  show: ({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`,
})

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether only this machine can reach the address: 127.0.0.0/8, ::1 or localhost. */
export function isLoopback({ host }: ListenAddress): boolean {
  if (host.toLowerCase() === 'localhost') return true
  const family = isIP(host)
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

/** A proxy URL. The whole URL is a secret, because it may contain a user name and a password. */
export const proxyUrl = scalar<Secret>({
  noun: 'the URL of a proxy',
  remedy: 'Write it as http://proxy.example.com:3128, with user:password@ before the host if the proxy requires it.',
  read: given => {
    const full = given.includes('://') ? given : `http://${given}`
    const url = parseUrl(full, ['http:', 'https:'])
    if (url === undefined || !['', '/'].includes(url.pathname + url.search + url.hash)) return undefined
    if (isDecodable(url.username + url.password)) return new Secret(full)
    return {
      what: "The proxy's username or password is not percent-encoded correctly.",
      remedy: 'Write a literal percent sign as %25.',
    }
  },
  show: proxy => {
    const url = new URL(proxy.reveal())
    return `${url.protocol}//${url.username === '' ? '' : '[secret]@'}${url.host}`
  },
})

type StoreUrl =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

/** The store URL: a PostgreSQL URL, or `sqlite:` and a path: `sqlite:data/x.db`, `sqlite:/data/x.db` or `sqlite:///data/x.db`. */
export const storeUrl = scalar<StoreUrl>({
  noun: 'the URL of a store',
  remedy: 'Write sqlite:./data/pipespan.db or postgres://user@host/database.',
  read: given => {
    if (given.startsWith('sqlite:')) return sqliteFile(given.slice('sqlite:'.length))
    const url = parseUrl(given, ['postgres:', 'postgresql:'])
    return url === undefined ? undefined : { engine: 'postgres', url: new Secret(given) }
  },
  show: store => {
    if (store.engine === 'sqlite') return `sqlite:${store.path}`
    const { protocol, host, pathname } = new URL(store.url.reveal())
    return `${protocol}//${host}${pathname}`
  },
})

function sqliteFile(rest: string): StoreUrl | Wrong | undefined {
  if (rest === ':memory:') {
    return { what: 'An in-memory store would lose acknowledged deliveries.', remedy: 'Write sqlite: and a file path.' }
  }
  const path = rest.replace(/^\/\/(?=\/)/, '')
  if (path === '' || path.startsWith('//') || path.includes('\0')) return undefined
  if (!/(?:^|\/)\.{0,2}$/.test(path)) return { engine: 'sqlite', path }
  const folder = path.endsWith('/') ? path : `${path}/`
  return {
    what: `${quoted(`sqlite:${path}`)} is a folder.`,
    remedy: `Name a file in this folder, such as sqlite:${folder}pipespan.db.`,
  }
}

/** The path under which a reverse proxy serves the daemon, without a trailing slash; empty for the root. */
export const basePath = kind(
  line.regex(/^\/(?:[A-Za-z0-9_.~-]+(?:\/[A-Za-z0-9_.~-]+)*\/?)?$/).transform(given => given.replace(/\/$/, '')),
  { noun: 'a path that starts with /', remedy: 'Write it as /pipespan.', show: path => (path === '' ? '/' : path) },
)

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function parseUrl(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.parse(text)
  const slashes = /^[a-z]+:\/\//i.test(text)
  return url !== null && slashes && protocols.includes(url.protocol) ? url : undefined
}

/** Whether the string is an IPv4 address or a DNS name. A string that consists only of digits and dots must be a valid address. */
function isHostName(host: string): boolean {
  if (/^[\d.]+$/.test(host)) return isIP(host) === 4
  return /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*\.?$/i.test(host)
}
