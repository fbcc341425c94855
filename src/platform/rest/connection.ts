// How the platform is reached: connections that are kept alive, and whose certificates are trusted.
import { getCACertificates } from 'node:tls'
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici'

/** What every way to the platform must be made with, be it direct or through a proxy. */
export interface ConnectRules {
  /** Trusted authorities, PEM; undefined: those that Node trusts. */
  readonly ca?: string[] | undefined
  /** For a connection and its TLS handshake, ms. */
  readonly timeout: number
}

/** Makes the way to the platform, e.g. one through a proxy. Who calls it closes what it made. */
export type DispatcherFactory = (rules: ConnectRules) => Dispatcher

/** The operator's authority (PEM, one or several) is trusted besides the usual ones, not instead of them. */
export function connectRules(ca: string | undefined, timeout: number): ConnectRules {
  return { ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }), timeout }
}

/**
 * Straight to the platform. Idle connections stay open for half a minute, unless the platform closes them sooner. HTTP/1.1
 * only: with few requests at once a second protocol gains nothing.
 */
export const directDispatcher: DispatcherFactory = ({ ca, timeout }) =>
  new Agent({ connect: { ...(ca && { ca }), timeout }, keepAliveTimeout: 30_000, allowH2: false })

/** URLs of proxies by the scheme of what is asked for; `no`: hosts reached without one, comma-separated. */
export interface PlatformProxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/** Through the operator's proxies, where there are any for `url`; never through those of the environment by accident. */
export function proxiedDispatcher(url: string, proxies: PlatformProxies): DispatcherFactory {
  const proxy = url.startsWith('https:') ? proxies.https : proxies.http
  if (proxy === undefined || proxy === '') return directDispatcher
  return ({ ca, timeout }) => {
    const tls = { ...(ca && { ca }), timeout }
    return new EnvHttpProxyAgent({
      connect: tls,
      requestTls: tls,
      proxyTls: tls,
      keepAliveTimeout: 30_000,
      allowH2: false,
      httpProxy: proxy,
      httpsProxy: proxy,
      noProxy: proxies.no ?? '',
    })
  }
}
