// Part of the port: declares how a webhook delivery is read. Its headers are read before the body is parsed. Parsing the body has several possible
// outcomes.
import type { Observation } from '../../model/observation.ts'
import type { PlatformEvent } from '../../model/event.ts'

/** Headers in the form of Node's HTTP server: names are in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Reads the headers of a delivery before its body is parsed. */
export interface DeliveryHeaders {
  /** All kinds of events. The set is closed, so that each kind can have its own counter. */
  readonly kinds: readonly string[]
  token(headers: Headers): string | undefined
  /** Returns the value of the event header, or an empty string if the header is missing. */
  event(headers: Headers): string
  /** Returns the platform's base URL from the headers of a delivery. */
  instance(headers: Headers): string | undefined
  /**
   * Returns the kind of the event if that kind is not selected. Returns undefined if it is selected, or if its kind is only known after processing.
   * The kind is read from the body, or from the header if there is no body.
   */
  unwanted(headers: Headers, body?: () => Uint8Array): string | undefined
  /**
   * Returns the key by which a repeated delivery is recognised; undefined if the sender sent none. `signed`: the delivery's signature was verified.
   * `instance`: the instance of the verified sender, if several platforms are configured.
   */
  key(headers: Headers, proof: 'sent' | 'signed', instance?: string): string | undefined
}

/** The outcome of parsing a delivery's body. */
export type Parsed =
  /** The delivery contains an observation. `dropped`: number of jobs without a usable ID or status. */
  | { readonly outcome: 'observation'; readonly observation: Observation; readonly dropped: number }
  | { readonly outcome: 'event'; readonly event: PlatformEvent }
  /** The delivery's kind of event is not selected. */
  | { readonly outcome: 'ignored'; readonly kind: string }
  /** The body cannot be parsed. `reason` is a sentence that ends in a remedy and quotes nothing of the body. */
  | { readonly outcome: 'unparseable'; readonly reason: string }
  /** The body is not a JSON object. */
  | { readonly outcome: 'no object'; readonly reason: string }

/** The selected events, in the form of a webhook's settings. */
export interface HookEvents {
  /**
   * Returns the flags that a webhook needs in addition to the flags for pipelines and jobs. The webhook of a project has no flags for group events.
   */
  flags(owner: 'project' | 'group'): readonly string[]
}
