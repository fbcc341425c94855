// Events that are not about a pipeline. Each is stored once, in the transaction that takes in what reported it, and exported through the outbox.
import type { EventChunk, PlatformEvent } from '../../../model/event.ts'

export interface ReceivedEvent {
  readonly event: Pick<PlatformEvent, 'object' | 'key' | 'content'>
  /** As it will be sent, except for a time that is derived from the order of events. */
  readonly chunk: EventChunk
  /** Waits up to `ms` for the store to know this job, and is then sent without the job's span. */
  readonly waits?: { readonly jobId: number; readonly ms: number } | undefined
  /** As log records, as points of metrics, or as messages to people. */
  readonly to: readonly { readonly destination: string; readonly signal: 'logs' | 'metrics' | 'notifications' }[]
}
