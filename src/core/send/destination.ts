// A destination as `core/send` needs it: where each signal goes, and with which credentials.
import type { Encode } from './messages.ts'
import type { Secret } from '../../lib/secret.ts'
import type { Route, Subject } from '../../model/route.ts'
import type { Signal } from '../store/ports/outbox.ts'

export interface Destination {
  /** Stored in every outbox entry. */
  readonly name: string
  /** The signals that are sent there. */
  readonly signals: Readonly<Partial<Record<Signal, Endpoint>>>
  /** Undefined: it takes everything. */
  readonly takes?: Route['takes']
  /**
   * The values for the templates of its headers; `key`: that of the event, if an event is sent. Undefined: the headers have no templates.
   * Returns undefined for a subject that lacks one of the values: the destination does not take it.
   */
  readonly headerValues?: ((subject: Subject, key?: string) => HeaderValues | undefined) | undefined
  /** For messages to people; telemetry is encoded as OTLP. */
  readonly encode?: Encode | undefined
  readonly bearer?: Bearer | undefined
  readonly proxy?: Proxies | undefined
}

/** The value of each template, by its name without braces. */
export type HeaderValues = Readonly<Record<string, string>>

/** The OTLP settings of one signal. */
export interface Endpoint {
  /** The whole address, e.g. `https://otel.example.com:4318/v1/traces`. Read for every request. */
  readonly url: string
  /** The address is a credential, and is not shown. */
  readonly isSecret?: boolean | undefined
  /** Read for every request: they may follow a file. May contain templates such as `{group}`. */
  readonly headers: Readonly<Record<string, Secret>>
  /** The time from the first byte of a request to the last byte of its answer, ms. */
  readonly timeoutMs: number
  readonly compression: 'gzip' | 'none'
  /** The type of the body; undefined: OTLP in protobuf. */
  readonly contentType?: string | undefined
  readonly tls?: TlsFiles | undefined
}

/** Paths of PEM files. A CA replaces the well-known ones. */
export interface TlsFiles {
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** The proxies, as HTTP_PROXY, HTTPS_PROXY and NO_PROXY name them. Each proxy serves addresses of its own scheme only. */
export interface Proxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/**
 * The current token, sent as `Authorization: Bearer …` instead of an Authorization among the headers. If it cannot be read, the last one stays in
 * use.
 */
export interface Bearer {
  /** Where it is read from; undefined: it is a fixed value. */
  readonly file?: string | undefined
  /** Called before every request. */
  current(): Secret | undefined
  /** Reads the token again from where it comes from. Never rejects. */
  reload(): Promise<unknown>
}
