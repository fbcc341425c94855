// Failures that looked like an outage of the platform but concern one endpoint, because other requests succeed after them: a proxy that blocks one
// path, a rate limit of one endpoint, a scope that is insufficient for it.
//
//   suspect ── somebody else answers ─► its own ── fails and somebody else answers once more ─► certain
//      ▲                                   │ who failed there answers
//      └────── forgotten ◄─────────────────┘
//
// Only `certain` lets other requests continue: an answer may have been under way when the token was revoked.
import type { PlatformError } from '../port.ts'

export interface EndpointFailures {
  /** A failure that is attributed to the platform. */
  suspect(subject: string, error: PlatformError): void
  /** Undefined: nothing shows that it is the endpoint's own. `stop`: it may still be the platform's. */
  failed(subject: string, error: PlatformError): 'go-on' | 'stop' | undefined
  answered(subject: string): void
}

interface Failure {
  readonly name: string
  /** Subjects whose requests failed there. */
  readonly failed: Set<string>
  /** Subjects that were answered since; a failure of one of these is a new one. */
  readonly answered: Set<string>
  hasFailedAgain: boolean
  isCertain: boolean
}

/** Most endpoints that are remembered, and most subjects of each; the oldest is forgotten first. */
const capacity = 1_000

export function createEndpointFailures(log: {
  logOnce(subject: string, error: PlatformError): void
  over(subject: string): void
}): EndpointFailures {
  const suspects = new Map<string, Failure>()
  const known = new Map<string, Failure>()

  function forget(key: string, { name }: Failure): void {
    known.delete(key)
    log.over(name)
  }

  return {
    suspect: (subject, error) => {
      const key = keyOf(subject, error)
      const { failed } = suspects.get(key) ?? { failed: new Set() }
      keep(suspects, key, {
        ...{ name: nameOf(subject, error), failed, answered: new Set() },
        ...{ hasFailedAgain: false, isCertain: false },
      })
      add(failed, subject)
    },
    failed: (subject, error) => {
      const failure = known.get(keyOf(subject, error))
      if (failure === undefined || failure.answered.has(subject)) return undefined
      failure.hasFailedAgain = true
      add(failure.failed, subject)
      log.logOnce(failure.name, error)
      return failure.isCertain ? 'go-on' : 'stop'
    },
    answered: subject => {
      for (const [key, failure] of known) {
        if (failure.failed.has(subject)) forget(key, failure)
        else {
          failure.isCertain ||= failure.hasFailedAgain
          add(failure.answered, subject)
        }
      }
      for (const [key, failure] of suspects) {
        if (!failure.failed.has(subject)) keep(known, key, failure)
      }
      suspects.clear()
    },
  }
}

function keyOf(subject: string, error: PlatformError): string {
  return `${error.kind} ${nameOf(subject, error)}`
}

/** The endpoint without ids, such as `GET /projects/:id/feature_flags`. */
function nameOf(subject: string, { endpoint }: PlatformError): string {
  if (endpoint === undefined) return subject
  return endpoint.replace(/\/(projects|groups)\/[^/]+/, '/$1/:id').replace(/\/\d+(?=\/|$)/g, '/:id')
}

function keep(map: Map<string, Failure>, key: string, failure: Failure): void {
  map.set(key, failure)
  dropOldest(map)
}

function add(set: Set<string>, subject: string): void {
  set.add(subject)
  dropOldest(set)
}

function dropOldest(all: Map<string, unknown> | Set<string>): void {
  const [oldest] = all.keys()
  if (all.size > capacity && oldest !== undefined) all.delete(oldest)
}
