// Events that are not about a pipeline. Each is stored once, in the transaction that takes in what reported it, and exported through the outbox.
import type { EventChunk, PlatformEvent } from '../../../model/event.ts'
import type { JobSpan } from '../../../model/trace-context.ts'
import type { Steps, Within } from '../sql/steps.ts'

/** An event is about a job, whose span it is sent with. */
export interface JobWait {
  readonly jobId: number
  /** The job's span, if it is known already. Else whoever learns it completes the event (`joinWaiting`). */
  readonly spanOf: (instance: string, jobId: number, within: Within) => Steps<JobSpan | undefined>
}

export interface ReceivedEvent {
  readonly event: Pick<PlatformEvent, 'object' | 'key' | 'content'>
  /** As it will be sent, except for a time that is derived from the order of events. */
  readonly chunk: EventChunk
  /** Waits up to `ms` for its job's span, and is then sent without it. */
  readonly waits?: (JobWait & { readonly ms: number }) | undefined
  /** As log records, as points of metrics, or as messages to people. */
  readonly to: readonly { readonly destination: string; readonly signal: 'logs' | 'metrics' | 'notifications' }[]
}
