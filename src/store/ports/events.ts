// Events that are about no pipeline: taken in with the deliveries that reported them (`Processed`), each once, and exported through the outbox.
import type { EventChunk, PlatformEvent } from '../../model/event.ts'

export interface ReceivedEvent {
  readonly event: Pick<PlatformEvent, 'object' | 'key' | 'content'>
  /** As it will be sent, but for the order in time, which the store knows. */
  readonly chunk: EventChunk
  /** Its place in the order of arrival, where several processes work the inbox off. */
  readonly arrival: number
  /** The job whose span it is of; sent without where the store has not known that for so long, ms. */
  readonly waits?: { readonly jobId: number; readonly ms: number } | undefined
  /** Destinations with the signal: log records, or what adds to metrics. */
  readonly to: readonly { readonly destination: string; readonly signal: 'logs' | 'metrics' }[]
}
