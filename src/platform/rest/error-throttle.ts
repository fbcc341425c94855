// Logs what is wrong with the platform once, not in every round, and logs when it is over.
//
// A failure that could be one project's own (a time-out, a 5xx, a broken answer) waits for what comes next: an answer
// shows that it was, a few more failures in a row that it is the platform's. So an outage is one message, not thousands.
// One that would be the platform's as a whole (an unknown token, no connection) turns out to be an endpoint's own when others
// answer after it: then it is logged once for that endpoint, whoever asks it, and no longer stands for the platform.
import { createEndpointFailures } from './endpoint-failures.ts'
import type { Log } from '../../lib/log.ts'
import type { PlatformError } from './platform-error.ts'

export interface ErrorThrottle {
  /** `stop`: any other request would fail likewise, so more requests make no sense for now. */
  failed(subject: string, error: PlatformError): 'go-on' | 'stop'
  answered(subject: string): void
  /** What is wrong with the platform as a whole at this moment. */
  readonly ofPlatform: () => PlatformError | undefined
}

/** Subjects remembered; the oldest goes first. */
const capacity = 10_000
const platform = 'the platform'
/** So many failures without an answer between them are the platform's. */
const tooMany = 3

export function createErrorThrottle(log: Log): ErrorThrottle {
  const logged = new Map<string, PlatformError>()
  const endpoints = createEndpointFailures({ logOnce, over })
  let unclear: { subject: string; error: PlatformError }[] = []

  function logOnce(subject: string, error: PlatformError): void {
    if (logged.get(subject)?.kind === error.kind) return
    logged.delete(subject)
    logged.set(subject, error)
    const [oldest] = logged.keys()
    if (logged.size > capacity && oldest !== undefined) logged.delete(oldest)
    log.warn({ subject, kind: error.kind }, error.message)
  }

  function over(subject: string): void {
    if (logged.delete(subject)) log.info({ subject }, `${subject} answers again`)
  }

  function ofPlatform(failures: typeof unclear): 'stop' {
    for (const { subject, error } of failures) endpoints.suspect(subject, error)
    for (const { error } of failures.slice(-1)) logOnce(platform, error)
    return 'stop'
  }

  return {
    failed: (subject, error) => {
      const scope = scopeOf(error)
      if (scope === 'subject') {
        logOnce(subject, error)
        return 'go-on'
      }
      const known = endpoints.failed(subject, error)
      if (known !== undefined) return known
      if (scope === 'platform') return ofPlatform([{ subject, error }])
      unclear.push({ subject, error })
      if (unclear.length < tooMany) return 'go-on'
      return ofPlatform(unclear.splice(0))
    },
    answered: subject => {
      // What failed together with the whole platform is not logged by itself.
      const own = logged.has(platform) ? [] : unclear.filter(one => one.subject !== subject)
      unclear = []
      for (const one of own) logOnce(one.subject, one.error)
      over(subject)
      over(platform)
      endpoints.answered(subject)
    },
    ofPlatform: () => logged.get(platform),
  }
}

function scopeOf({ kind, code }: PlatformError): 'platform' | 'subject' | 'unclear' {
  switch (kind) {
    case 'unauthorized':
    case 'network':
    case 'limited':
    case 'not-the-api':
      return 'platform'
    case 'forbidden':
      return code === 'insufficient_scope' ? 'platform' : 'subject'
    case 'timeout':
    case 'unavailable':
    case 'broken-answer':
    case 'foreign-host':
      return 'unclear'
    default:
      return 'subject'
  }
}
