// How the platform is reached: connections that are kept alive, and whose certificates are trusted.
import { getCACertificates } from 'node:tls'
import { Agent, type Dispatcher } from 'undici'

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
