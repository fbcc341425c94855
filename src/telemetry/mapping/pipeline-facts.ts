// What follows from a pipeline's facts: how long its author waited for it, and who started it.
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'

/** How the platform names the users that it makes itself: tokens of a project or group, and service accounts. */
const botName = /^(?:project|group)_.*_bot/
const serviceAccount = 'service_account'

/** Undefined where the name is unknown. */
export function userKindOf(username: string | undefined): 'human' | 'bot' | 'service_account' | undefined {
  if (username === undefined) return undefined
  if (botName.test(username)) return 'bot'
  return username.startsWith(`${serviceAccount}_`) ? serviceAccount : 'human'
}

/** ms from the commit to the end; undefined for what no author waits for: schedules, tags of old commits, retries. */
export function feedbackTime({ attempt, pipeline }: Pick<Chunk, 'attempt' | 'pipeline'>): Millis | undefined {
  const { source, committedAt } = pipeline.facts
  const { finishedAt } = pipeline
  if (attempt > 1 || (source !== 'push' && source !== 'merge_request_event')) return undefined
  if (committedAt === undefined || finishedAt === undefined || finishedAt < committedAt) return undefined
  return finishedAt - committedAt
}
