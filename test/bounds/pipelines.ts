// Generates webhook bodies with a given number of jobs and given contents, and posts them until they are accepted.
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Measure {
  readonly id: number
  readonly jobs?: number | undefined
  readonly commitMessage?: string | undefined
  readonly variables?: Readonly<Record<string, string>> | undefined
  readonly status?: string | undefined
}

const time = (seconds: number): string =>
  new Date(Date.UTC(2026, 4, 1, 10) + seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC')

/** A pipeline event for a finished pipeline. Its job IDs are consecutive, starting from the pipeline's ID times 10,000. */
export function pipelineEvent({
  id,
  jobs = 2,
  commitMessage = 'Mend it',
  variables = {},
  status = 'success',
}: Measure): string {
  return JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: {
      id,
      iid: id,
      ref: 'main',
      tag: false,
      sha: 'a'.repeat(40),
      source: 'push',
      status,
      detailed_status: 'passed',
      stages: ['build'],
      created_at: time(0),
      finished_at: time(100),
      duration: 90,
      variables: Object.entries(variables).map(([key, value]) => ({ key, value })),
      url: `https://git.example.com/acme/shop/-/pipelines/${id}`,
    },
    user: { id: 7, username: 'ada' },
    project: { id: 3, name: 'shop', path_with_namespace: 'acme/shop', web_url: 'https://git.example.com/acme/shop' },
    commit: { id: 'a'.repeat(40), message: commitMessage },
    builds: Array.from({ length: jobs }, (_, index) => ({
      id: id * 10_000 + index,
      stage: 'build',
      name: `job ${index}`,
      status: 'success',
      created_at: time(0),
      started_at: time(1),
      finished_at: time(50),
      duration: 49,
      user: { id: 7, username: 'ada' },
      runner: {
        id: 1,
        description: 'runner-1',
        runner_type: 'instance_type',
        active: true,
        is_shared: true,
        tags: ['linux'],
      },
    })),
  })
}

/** A webhook receiver: one daemon, or several behind a load balancer. */
export interface Takes {
  post(body: string, headers: Record<string, string>): Promise<Response>
}

/** Posts bodies until all are accepted, `concurrency` at a time. Calls `onAnswer` with every status. A failed connection counts as 503. */
export async function postUntilTaken(
  to: Takes,
  bodies: readonly string[],
  concurrency: number,
  onAnswer: (status: number) => void = () => undefined,
): Promise<void> {
  const left = bodies.values()
  const sender = async (): Promise<void> => {
    for (const body of left) {
      for (;;) {
        const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': hash('sha256', body) }
        const status = await to.post(body, headers).then(
          async answer => {
            await answer.body?.cancel()
            return answer.status
          },
          () => 503,
        )
        onAnswer(status)
        if (status < 300) break
        if (status < 500) throw new Error(`the delivery was refused with ${status}`)
        await sleep(100)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, sender))
}
