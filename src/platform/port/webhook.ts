// Part of the port: declares how a webhook delivery is read. Its headers are read before its body is parsed, and parsing the body has one of several
// outcomes.
import type { Observation } from '../../model/observation.ts'
import type { PlatformEvent } from '../../model/event.ts'

/** Headers as Node's HTTP server provides them, with lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Reads the headers of a delivery before its body is parsed. */
export interface DeliveryHeaders {
  /** All event kinds. The set is closed, so that each kind can have its own counter. */
  readonly kinds: readonly string[]
  token(headers: Headers): string | undefined
  /** Returns the value of the event header, or an empty string if the header is missing. */
  event(headers: Headers): string
  /** Returns the platform's base URL, as given in the delivery's headers. */
  instance(headers: Headers): string | undefined
  /**
   * Returns the event's kind if that kind is not selected. Returns undefined if the kind is selected, or cannot be determined before the delivery is
   * processed. The kind is read from the body, or from the header if no body is passed.
   */
  unwanted(headers: Headers, body?: () => Uint8Array): string | undefined
  /**
   * Returns the deduplication key of a delivery; undefined if the sender sent none. `signed`: the delivery's signature was verified. `instance`: the
   * verified sender's instance, if several platforms are configured.
   */
  key(headers: Headers, proof: 'sent' | 'signed', instance?: string): string | undefined
}

/** The outcome of parsing a delivery's body. */
export type Parsed =
  /** The delivery contains an observation. `dropped`: number of jobs dropped because they have no usable ID or status. */
  | { readonly outcome: 'observation'; readonly observation: Observation; readonly dropped: number }
  | { readonly outcome: 'event'; readonly event: PlatformEvent }
  /** The delivery's event kind is not selected. */
  | { readonly outcome: 'ignored'; readonly kind: string }
  /** The body cannot be parsed. `reason` is an error message that ends with advice on how to fix the problem, and quotes nothing from the body. */
  | { readonly outcome: 'unparseable'; readonly reason: string }
  /** The body is not a JSON object. */
  | { readonly outcome: 'no object'; readonly reason: string }

/** The webhook flags of the selected events. */
export interface HookEvents {
  /** Returns the flags that a webhook needs in addition to those for pipelines and jobs. Project webhooks have no flags for group events. */
  flags(owner: 'project' | 'group'): readonly string[]
}
