// Events that are about no pipeline: taken in with the deliveries that reported them (`Processed`), each once, and exported through the outbox.
import type { EventChunk, PlatformEvent } from '../../model/event.ts'

export interface ReceivedEvent {
  readonly event: Pick<PlatformEvent, 'object' | 'key' | 'content'>
  /** As it will be sent, but for the order in time, which the store knows. */
  readonly chunk: EventChunk
  /** Its place in the order of arrival, where several processes work the inbox off. */
  readonly arrival: number
  /** Destinations, with the signal of log records. */
  readonly to: readonly { readonly destination: string; readonly signal: 'logs' }[]
}
