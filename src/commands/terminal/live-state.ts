// What `pipespan top` draws: the part of `GET /api/overview` that it needs. Times are Unix ms.

export interface LiveState {
  readonly notices: readonly { readonly level: 'problem' | 'hint'; readonly what: string; readonly remedy: string }[]
  readonly flow: { readonly received: number; readonly attempts: number; readonly lastAccepted?: number | undefined }
  /** Deliveries that could not be decoded. */
  readonly quarantined: number
  readonly queues: readonly LiveQueue[]
  readonly active: number
  readonly running: readonly LivePipeline[]
  readonly finished: readonly LivePipeline[]
}

interface LiveQueue {
  readonly destination: string
  readonly signal: string
  readonly state: string
  readonly pending: number
  readonly dead: number
  readonly oldest?: number | undefined
  readonly counters: Readonly<Record<string, number>>
}

export interface LivePipeline {
  readonly instance: string
  readonly projectId: number
  readonly pipelineId: number
  readonly project: string
  readonly status: string
  readonly name?: string | undefined
  readonly ref?: string | undefined
  readonly createdAt?: number | undefined
  readonly finishedAt?: number | undefined
  /** Now, by the platform's clock. */
  readonly platformNow: number
  readonly spentMs?: number | undefined
  readonly jobs: readonly LiveJob[]
  readonly failures: readonly { readonly name: string }[]
  readonly usual?:
    { readonly runs: number; readonly p50?: number | undefined; readonly p95?: number | undefined } | undefined
}

export interface LiveJob {
  readonly kind: 'job' | 'bridge'
  readonly name: string
  readonly stage: string
  readonly status: string
  readonly allowFailure: boolean
  readonly retried: boolean
  readonly createdAt?: number | undefined
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
  readonly queuedMs?: number | undefined
  readonly failureReason?: string | undefined
}

/** Identifies a pipeline while lists change. */
export function keyOf({ instance, pipelineId }: LivePipeline): string {
  return `${instance} ${pipelineId}`
}

/** Whether a part of a pipeline's names or status is this text; an empty one always is. */
export function matches({ project, pipelineId, name, ref, status, jobs }: LivePipeline, text: string): boolean {
  const wanted = text.toLowerCase()
  const texts = [project, `#${pipelineId}`, name ?? '', ref ?? '', status, ...jobs.map(job => job.name)]
  return texts.some(one => one.toLowerCase().includes(wanted))
}
