// Makes connections to the platform: keep-alive, trusted certificates, proxies.
import { getCACertificates } from 'node:tls'
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici'

/** Options of all connections, direct or through a proxy. */
export interface ConnectRules {
  /** Trusted certificate authorities, PEM; undefined: Node's own. */
  readonly ca?: string[] | undefined
  /** Timeout for a connection with its TLS handshake, ms. */
  readonly timeout: number
}

/** Makes a dispatcher that the caller must close. */
export type DispatcherFactory = (rules: ConnectRules) => Dispatcher

/** `ca`: one or more certificate authorities (PEM) that are trusted in addition to the default ones. */
export function connectRules(ca: string | undefined, timeout: number): ConnectRules {
  return { ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }), timeout }
}

/** Connects directly, with HTTP/1.1 only: with few concurrent requests, HTTP/2 has no advantage. Idle connections stay open for 30 s. */
export const directDispatcher: DispatcherFactory = ({ ca, timeout }) =>
  new Agent({ connect: { ...(ca && { ca }), timeout }, keepAliveTimeout: 30_000, allowH2: false })

/** URLs of proxies, by the scheme of the request. `no`: comma-separated hosts that are reached without a proxy. */
export interface PlatformProxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/**
 * Connects through the proxy that is configured for `url`, or directly if there is none. The values come from the options, so undici does not
 * read the environment.
 */
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
