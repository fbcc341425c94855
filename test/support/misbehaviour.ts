// Faults that tests can inject into an OTLP backend: which requests they affect, and how the backend responds to these requests.
import type { ServerResponse } from 'node:http'
import { exportResponse, rpcStatus } from '../../src/simulator/otlp-messages.ts'
import type { ReceivedRequest } from './otlp-decode.ts'

/** The fault that a misbehaviour causes in the requests that it affects. */
export type Fault =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>> | undefined
      /** The response body, sent unchanged. By default, the body is a google.rpc.Status with `message`. */
      readonly body?: string | Uint8Array | undefined
      readonly message?: string | undefined
    }
  /** Responds with a 2xx that has these fields in `partial_success`. The data counts as received. */
  | { readonly kind: 'partial'; readonly rejected: number; readonly message: string }
  /** Reads the request, but never responds. */
  | { readonly kind: 'hang' }
  /** Reads the request, and then closes the connection. */
  | { readonly kind: 'drop' }
  /** Receives the data, but closes the connection before responding, so the sender cannot know the outcome. */
  | { readonly kind: 'lost-answer' }
  /** Sends the default response, but only after `delay`. */
  | { readonly kind: 'slow' }

export interface Misbehaviour {
  readonly fault: Fault
  /** How long the fault or the response is delayed: a number of ms, or a promise that must resolve first. */
  readonly delay?: number | Promise<unknown> | undefined
  /** The number of affected requests after which the misbehaviour ends. If undefined, the misbehaviour lasts until it is cancelled. */
  readonly times?: number | undefined
  /** Whether a request is affected. If undefined, all requests are affected. */
  readonly when?: ((request: ReceivedRequest) => boolean) | undefined
}

interface Entry {
  readonly order: Misbehaviour
  left: number
}

/** The active misbehaviours. If several of them affect a request, the one that was added first applies. */
export class Misbehaviours {
  readonly #ordered: Entry[] = []

  /** Adds a misbehaviour, and returns the function that ends it. */
  add(order: Misbehaviour): () => void {
    const entry = { order, left: order.times ?? Infinity }
    this.#ordered.push(entry)
    return () => this.#remove(entry)
  }

  take(request: ReceivedRequest): Misbehaviour | undefined {
    const entry = this.#ordered.find(({ order }) => order.when?.(request) ?? true)
    if (entry === undefined) return undefined
    entry.left -= 1
    if (entry.left <= 0) this.#remove(entry)
    return entry.order
  }

  clear(): void {
    this.#ordered.length = 0
  }

  #remove(entry: Entry): void {
    const index = this.#ordered.indexOf(entry)
    if (index >= 0) this.#ordered.splice(index, 1)
  }
}

const protobufType = 'application/x-protobuf'

/** Responds to a request that was accepted, completely or in part (OTLP specification, "OTLP/HTTP Response"). */
export function answerAccepted(response: ServerResponse, partial?: { rejected: number; message: string }): void {
  const message =
    partial === undefined ? {} : { partialSuccess: { rejected: partial.rejected, errorMessage: partial.message } }
  response.writeHead(200, { 'content-type': protobufType }).end(exportResponse.encode(message).finish())
}

export function answerStatus(response: ServerResponse, fault: Extract<Fault, { kind: 'status' }>): void {
  const { status, headers, body, message } = fault
  const type = typeof body === 'string' ? 'text/plain' : protobufType
  const content = body ?? rpcStatus.encode({ message: message ?? '' }).finish()
  response.writeHead(status, { 'content-type': type, ...headers }).end(content)
}
