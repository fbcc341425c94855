// Declares how deliveries of webhooks are read: their headers before the body is parsed, and the outcomes of parsing it. A part of the port.
import type { Observation } from '../../model/observation.ts'
import type { PlatformEvent } from '../../model/event.ts'

/** Headers in the form of Node's HTTP server: names are in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Reads the headers of a delivery before its body is parsed. */
export interface DeliveryHeaders {
  /** All kinds of events. The set is closed, so that each kind can be counted. */
  readonly kinds: readonly string[]
  token(headers: Headers): string | undefined
  /** The value of the event header; empty if there is none. */
  event(headers: Headers): string
  /** The platform's base URL. */
  instance(headers: Headers): string | undefined
  /**
   * The kind of event, if that kind is not selected. Undefined if it is selected, or if only processing shows the kind. The body decides; without a
   * body, the header does.
   */
  unwanted(headers: Headers, body?: () => Uint8Array): string | undefined
  /**
   * The key that identifies a repeated delivery; undefined if the sender gave none. `signed`: the delivery's signature was verified. `instance`: that
   * of the verified sender, if there are several platforms.
   */
  key(headers: Headers, proof: 'sent' | 'signed', instance?: string): string | undefined
}

/** The outcome of parsing a delivery's body. */
export type Parsed =
  /** `dropped`: number of jobs without a usable ID or status. */
  | { readonly outcome: 'observation'; readonly observation: Observation; readonly dropped: number }
  | { readonly outcome: 'event'; readonly event: PlatformEvent }
  /** This kind of event is not selected. */
  | { readonly outcome: 'ignored'; readonly kind: string }
  /** `reason` is a sentence that ends in a remedy and quotes nothing of the body. */
  | { readonly outcome: 'unparseable'; readonly reason: string }
  /** The body is not a JSON object. */
  | { readonly outcome: 'no object'; readonly reason: string }

/** The selected events, as settings of hooks. */
export interface HookEvents {
  /** The flags that a hook needs in addition to those of pipelines and jobs. A project's hook lacks those of groups. */
  flags(owner: 'project' | 'group'): readonly string[]
}
