// A platform that does not give up: each body is posted until it is taken.
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Anything that takes webhooks: a daemon, or one of several. */
export interface Takes {
  post(body: string, headers: Record<string, string>): Promise<Response>
}

/** Sends `concurrency` posts at a time. `onAnswer` gets every status; a failed connection counts as 503. */
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
        if (status < 500) throw new Error(`refused with ${status}`)
        await sleep(100)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, sender))
}
