// Logs a platform failure once instead of in every round, and logs its end. So an outage produces one log message, not thousands.
//
// 1. A failure that concerns one subject, such as a project, is logged for that subject.
// 2. A failure that may concern one subject or the whole platform (a timeout, a 5xx, a malformed response) is held back. If another request succeeds
//    next, the failure is logged for its subject. After `maxUnclear` failures in a row, it is logged for the platform.
// 3. A failure that concerns the whole platform (a rejected token, no connection) is logged for the platform, and stops all requests.
// 4. Such a failure may in fact concern only one endpoint, because a proxy blocks one path or the token's scope is insufficient for it. If other
//    subjects succeed after the failure, the next failure is logged once for the endpoint. If that happens twice, other requests continue. A single
//    success is not enough, because its response may have been sent before the token was revoked.
// 5. The endpoint's failure is over when a subject that failed at the endpoint succeeds. If a subject fails there after it has succeeded, that is a
//    new failure.
import { inSettingsOf } from '../port/error.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { Log } from '../../lib/log.ts'
import type { ErrorThrottle, PlatformError } from '../port.ts'

/** Maximum number of subjects that are tracked. The oldest is evicted first. */
const capacity = 10_000
/** Maximum number of failing endpoints that are tracked, and of subjects tracked per endpoint. */
const endpointCapacity = 1_000
/** Number of consecutive failures of unclear cause after which the whole platform counts as failed. A success resets the number. */
const maxUnclear = 3

interface FailingEndpoint {
  /** The endpoint as method and path without IDs, such as `GET /projects/:id/feature_flags`. */
  readonly name: string
  /** The subjects whose requests to the endpoint failed. */
  readonly failed: Map<string, true>
  /** The subjects whose requests have succeeded since the endpoint failed. */
  readonly answered: Map<string, true>
  /**
   * `hasFailed`: whether the endpoint has failed since a subject last succeeded. `cleared`: how many times other subjects succeeded after a failure.
   */
  hasFailed: boolean
  cleared: number
}

/** Creates a platform's error throttle. `name`: the platform's name, if several platforms are configured. */
export function createErrorThrottle(log: Log, name = 'default'): ErrorThrottle {
  const own = name === 'default' ? {} : { platform: name }
  const platform = name === 'default' ? 'the platform' : `the platform ${name}`
  const logged = new Map<string, PlatformError>()
  const endpoints = new Map<string, FailingEndpoint>()
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
    for (const { subject, error } of failures) {
      const key = keyOf(subject, error)
      const known = endpoints.get(key)
      const failed = known?.cleared === 0 ? known.failed : new Map<string, true>()
      remember(failed, subject, true, endpointCapacity)
      const endpoint = { name: nameOf(subject, error), failed, answered: new Map(), hasFailed: true, cleared: 0 }
      remember(endpoints, key, endpoint, endpointCapacity)
    }
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
      const known = endpoints.get(keyOf(subject, error))
      if (known !== undefined && known.cleared > 0 && !known.answered.has(subject)) {
        known.hasFailed = true
        remember(known.failed, subject, true, endpointCapacity)
        logOnce(known.name, error)
        return known.cleared > 1 ? 'go-on' : 'stop'
      }
      if (scope === 'platform') return failPlatform([{ subject, error }])
      unclear.push({ subject, error })
      if (unclear.length < maxUnclear) return 'go-on'
      return failPlatform(unclear.splice(0))
    },
    answered: subject => {
      // During an outage of the whole platform, failures of unclear cause are not logged for their subjects.
      const others = logged.has(platform) ? [] : unclear.filter(one => one.subject !== subject)
      unclear = []
      for (const one of others) logOnce(one.subject, one.error)
      over(subject)
      over(platform)
      for (const [key, endpoint] of endpoints) {
        if (endpoint.failed.has(subject)) {
          endpoints.delete(key)
          over(endpoint.name)
        } else {
          if (endpoint.cleared > 0) remember(endpoint.answered, subject, true, endpointCapacity)
          if (endpoint.hasFailed) endpoint.cleared += 1
          endpoint.hasFailed = false
        }
      }
    },
    ofPlatform: () => logged.get(platform),
  }
}

function keyOf(subject: string, error: PlatformError): string {
  return `${error.kind} ${nameOf(subject, error)}`
}

function nameOf(subject: string, { endpoint }: PlatformError): string {
  if (endpoint === undefined) return subject
  return endpoint.replace(/\/(projects|groups)\/[^/]+/, '/$1/:id').replace(/\/\d+(?=\/|$)/g, '/:id')
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
