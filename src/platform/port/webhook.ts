// The port's part for deliveries of webhooks: what their headers say before, and what their bodies are after they are parsed.
import type { Observation } from '../../model/observation.ts'
import type { PlatformEvent } from '../../model/event.ts'

/** Headers as Node's HTTP server gives them: names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** What the headers of a delivery say before its body is parsed. */
export interface DeliveryHeaders {
  /** All kinds of events: a closed set, so that they can be counted. */
  readonly kinds: readonly string[]
  token(headers: Headers): string | undefined
  /** Empty without an event header. */
  event(headers: Headers): string
  /** The platform's base URL. */
  instance(headers: Headers): string | undefined
  /** The kind of event, if it is one that nobody wants. Undefined: it is wanted, or only the body says what it is. */
  unwanted(headers: Headers): string | undefined
  /** By it a repeated delivery is recognised; undefined if the sender gave none. `signed`: the signature over the delivery was verified. */
  key(headers: Headers, proof: 'sent' | 'signed'): string | undefined
}

/** What a delivery's body is. */
export type Parsed =
  /** `dropped`: jobs in it without a usable id or status. */
  | { readonly outcome: 'observation'; readonly observation: Observation; readonly dropped: number }
  | { readonly outcome: 'event'; readonly event: PlatformEvent }
  /** Nobody wants this kind of event. */
  | { readonly outcome: 'ignored'; readonly kind: string }
  /** `reason` ends in a remedy, and quotes nothing of the body. */
  | { readonly outcome: 'unparseable'; readonly reason: string }

/** Of the events that are selected. */
export interface HookEvents {
  /** The flags that a hook needs in addition to those of pipelines and jobs. A project's hook lacks those of groups. */
  flags(owner: 'project' | 'group'): readonly string[]
}
