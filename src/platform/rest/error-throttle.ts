// Logs a failure of the platform once and not in every round, and logs when it is over. An outage is therefore one message and not thousands.
//
// 1. A failure that concerns one subject, such as a project, is logged for that subject.
// 2. A failure that may concern one subject or the whole platform (a timeout, a 5xx, a broken answer) is held back. If another request succeeds
//    next, it is logged for its subject. After `maxUnclear` failures in a row, it is logged for the platform.
// 3. A failure that concerns the whole platform (a refused token, no connection) is logged for the platform. If other requests succeed after it, it
//    may concern one endpoint only (`endpoint-failures.ts`); it is then logged once for that endpoint.
import { inSettingsOf } from '../port/error.ts'
import { remember } from '../../lib/bounded-map.ts'
import { createEndpointFailures } from './endpoint-failures.ts'
import type { Log } from '../../lib/log.ts'
import type { ErrorThrottle, PlatformError } from '../port.ts'

/** Maximum number of subjects that are remembered. The oldest is forgotten first. */
const capacity = 10_000
/** After this many unclear failures without a success in between, the platform has failed. */
const maxUnclear = 3

/** `name`: of the platform, if there are several. */
export function createErrorThrottle(log: Log, name = 'default'): ErrorThrottle {
  const own = name === 'default' ? {} : { platform: name }
  const platform = name === 'default' ? 'the platform' : `the platform ${name}`
  const logged = new Map<string, PlatformError>()
  const endpoints = createEndpointFailures({ logOnce, over })
  let unclear: { subject: string; error: PlatformError }[] = []

  function logOnce(subject: string, error: PlatformError): void {
    if (logged.get(subject)?.kind === error.kind) return
    remember(logged, subject, error, capacity)
    log.warn({ ...own, subject, kind: error.kind }, inSettingsOf(name, error.message))
  }

  function over(subject: string): void {
    if (logged.delete(subject)) log.info({ ...own, subject }, `${subject} answers again`)
  }

  function failPlatform(failures: typeof unclear): 'stop' {
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
      if (scope === 'platform') return failPlatform([{ subject, error }])
      unclear.push({ subject, error })
      if (unclear.length < maxUnclear) return 'go-on'
      return failPlatform(unclear.splice(0))
    },
    answered: subject => {
      // Unclear failures during an outage of the whole platform are not logged for their subjects.
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
