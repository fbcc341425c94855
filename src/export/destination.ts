// A destination as the export room needs it: where each signal goes, and with which credentials.
import type { Secret } from '../lib/secret.ts'
import type { Signal } from '../store/ports/runs.ts'

export interface Destination {
  /** Stands in every export row. */
  readonly name: string
  /** The signals that are sent there. */
  readonly signals: Readonly<Partial<Record<Signal, Endpoint>>>
  readonly bearer?: Bearer | undefined
  readonly proxy?: Proxies | undefined
}

/** The OTLP settings of one signal. */
export interface Endpoint {
  /** The whole address, e.g. `https://otel.example.com:4318/v1/traces`. */
  readonly url: string
  /** Read for every request: they may follow a file. */
  readonly headers: Readonly<Record<string, Secret>>
  /** From the first byte of a request to the last byte of its answer. */
  readonly timeoutMs: number
  readonly compression: 'gzip' | 'none'
  readonly tls?: TlsFiles | undefined
}

/** Paths of PEM files. A CA replaces the well-known ones. */
export interface TlsFiles {
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** As HTTP_PROXY, HTTPS_PROXY and NO_PROXY give them. Each proxy serves addresses of its own scheme only. */
export interface Proxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/**
 * The token of the moment: sent as `Authorization: Bearer …`, in place of an Authorization among the headers. A token that
 * cannot be read now is no error here: the last one stays.
 */
export interface Bearer {
  /** Asked before every request. */
  current(): Secret | undefined
  /** Reads the token where it comes from, for `current` to answer. Never rejects. */
  reload(): Promise<unknown>
}
