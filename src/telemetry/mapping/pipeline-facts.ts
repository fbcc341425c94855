// Values derived from a pipeline's facts: how long its author waited for it, and who started it.
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'

/** The platform's names of the users of project and group tokens, and of service accounts. */
const botName = /^(?:project|group)_.*_bot/
const serviceAccount = 'service_account'

/** Undefined if the name is unknown. */
export function userKindOf(username: string | undefined): 'human' | 'bot' | 'service_account' | undefined {
  if (username === undefined) return undefined
  if (botName.test(username)) return 'bot'
  return username.startsWith(`${serviceAccount}_`) ? serviceAccount : 'human'
}

/** ms from the commit to the end; undefined for pipelines that no author waits for, such as schedules and retries. */
export function feedbackTime({ attempt, pipeline }: Pick<Chunk, 'attempt' | 'pipeline'>): Millis | undefined {
  const { source, committedAt } = pipeline.facts
  const { finishedAt } = pipeline
  if (attempt > 1 || (source !== 'push' && source !== 'merge_request_event')) return undefined
  if (committedAt === undefined || finishedAt === undefined || finishedAt < committedAt) return undefined
  return finishedAt - committedAt
}
