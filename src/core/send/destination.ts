// A destination as `core/send` needs it: the endpoint of each signal, and its credentials.
import type { Encode } from './messages.ts'
import { Secret } from '../../lib/secret.ts'
import type { Route, Subject } from '../../model/route.ts'
import type { Signal } from '../store/ports/outbox.ts'

export interface Destination {
  /** The name of the destination, which is stored in every outbox entry. */
  readonly name: string
  /** The signals that are sent to the destination, with their endpoints. */
  readonly signals: Readonly<Partial<Record<Signal, Endpoint>>>
  /** Whether the destination takes a project. If undefined, it takes every project. */
  readonly takes?: Route['takes']
  /**
   * Returns the values for the templates in the destination's headers; for an event, `key` is its key. If the function is undefined, the headers have
   * no templates. If it returns undefined, the subject lacks one of the values, and the destination does not take it.
   */
  readonly headerValues?: ((subject: Subject, key?: string) => HeaderValues | undefined) | undefined
  /** Encodes notifications for people. Telemetry is encoded as OTLP. */
  readonly encode?: Encode | undefined
  readonly bearer?: Bearer | undefined
  readonly proxy?: Proxies | undefined
}

/** The value of each header template, by its name without braces. */
export type HeaderValues = Readonly<Record<string, string>>

/** The OTLP settings for one signal. */
export interface Endpoint {
  /** The full URL of the endpoint, e.g. `https://otel.example.com:4318/v1/traces`. It is read for every request. */
  readonly url: string
  /** Whether the URL is a credential. If so, it is not shown. */
  readonly isSecret?: boolean | undefined
  /**
   * The headers of a request. They are read for every request, because their values may come from a file. They may contain templates such as
   * `{group}`.
   */
  readonly headers: Readonly<Record<string, Secret>>
  /** The maximum time from the first byte of a request to the last byte of its response, ms. */
  readonly timeoutMs: number
  readonly compression: 'gzip' | 'none'
  /** The content type of the body. If undefined, the body is OTLP in protobuf. */
  readonly contentType?: string | undefined
  readonly tls?: TlsFiles | undefined
}

/** Paths of PEM files for TLS. A configured CA replaces the well-known CAs. */
export interface TlsFiles {
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** The proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. HTTP_PROXY is used only for http URLs, and HTTPS_PROXY only for https URLs. */
export interface Proxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/**
 * The current bearer token, which is sent as `Authorization: Bearer …` and replaces an Authorization header. If the token cannot be read, the last
 * one remains in use.
 */
export interface Bearer {
  /** The file from which the token is read. If undefined, the token is a fixed value. */
  readonly file?: string | undefined
  /** Returns the current token. Called before every request. */
  current(): Secret | undefined
  /** Reads the token again from its source. Never rejects. */
  reload(): Promise<unknown>
}

/**
 * Returns the bearer tokens with which a destination's requests are sent now: its own token or, if it has none, those in the `Authorization` headers
 * of its signals.
 */
export function bearerTokensOf({ bearer, signals }: Pick<Destination, 'bearer' | 'signals'>): Secret[] {
  const own = bearer?.current()
  if (own !== undefined) return [own]
  const inHeaders = Object.values(signals)
    .flatMap(({ headers }) => Object.entries(headers))
    .filter(([name]) => name.toLowerCase() === 'authorization')
    .flatMap(([, value]) => /^bearer +(\S+)$/i.exec(value.reveal())?.[1] ?? [])
  return [...new Set(inHeaders)].map(value => new Secret(value))
}
