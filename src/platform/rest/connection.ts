// Connections to the platform: keep-alive, trusted certificates, proxies.
import { getCACertificates } from 'node:tls'
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici'

/** Options of all connections, direct or through a proxy. */
export interface ConnectRules {
  /** Trusted certificate authorities, PEM; undefined: Node's own. */
  readonly ca?: string[] | undefined
  /** For a connection and its TLS handshake, ms. */
  readonly timeout: number
}

/** Makes a dispatcher, which the caller must close. */
export type DispatcherFactory = (rules: ConnectRules) => Dispatcher

/** The configured authorities (PEM, one or several) are trusted in addition to the usual ones. */
export function connectRules(ca: string | undefined, timeout: number): ConnectRules {
  return { ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }), timeout }
}

/** Connects directly. Idle connections stay open for half a minute. HTTP/1.1 only, as HTTP/2 gains nothing with few requests at once. */
export const directDispatcher: DispatcherFactory = ({ ca, timeout }) =>
  new Agent({ connect: { ...(ca && { ca }), timeout }, keepAliveTimeout: 30_000, allowH2: false })

/** URLs of proxies by the scheme of the request; `no`: hosts without a proxy, comma-separated. */
export interface PlatformProxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/** Connects through the configured proxy for `url`, if there is one; undici's own reading of the environment is not used. */
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
