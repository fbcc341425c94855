// Logs what is wrong with the platform once, not in every round, and logs when it is over.
//
// A failure that may concern one project only (a time-out, a 5xx, a broken answer) is held back: if another request succeeds next, it is logged for
// the project; after a few failures in a row it is logged for the platform. So an outage is one message, not thousands. A failure that should concern
// the whole platform (a refused token, no connection) may turn out to concern one endpoint, if other requests succeed after it; then it is logged
// once for that endpoint.
import { remember } from '../../lib/bounded-map.ts'
import { createEndpointFailures } from './endpoint-failures.ts'
import type { Log } from '../../lib/log.ts'
import type { ErrorThrottle, PlatformError } from '../port.ts'

/** Most subjects that are remembered; the oldest is forgotten first. */
const capacity = 10_000
const platform = 'the platform'
/** After so many failures without an answer the platform is to blame. */
const tooMany = 3

export function createErrorThrottle(log: Log): ErrorThrottle {
  const logged = new Map<string, PlatformError>()
  const endpoints = createEndpointFailures({ logOnce, over })
  let unclear: { subject: string; error: PlatformError }[] = []

  function logOnce(subject: string, error: PlatformError): void {
    if (logged.get(subject)?.kind === error.kind) return
    remember(logged, subject, error, capacity)
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
      // Failures during an outage of the whole platform are not logged singly.
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
