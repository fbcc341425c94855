// Recognises failures that look like an outage of the platform but concern one endpoint only: a proxy that blocks one path, a rate limit of one
// endpoint, a scope that does not suffice for it. A subject is the thing that a request is about, such as a project.
//
//   suspect ── another subject succeeds ─► known ── the endpoint fails again, and another subject succeeds again ─► certain
//                                            │                                                                        │
//   forgotten ◄── a subject that failed at the endpoint succeeds ────────────────────────────────────────────────────┘
//
// 1. A failure that is attributed to the platform makes its endpoint a suspect.
// 2. When another subject succeeds, the failure concerns the endpoint and not the platform.
// 3. Only in the state `certain` may other requests continue. A single success does not suffice: its answer may have been on its way when the token
//    was revoked.
// 4. When a subject that failed at the endpoint succeeds, the endpoint's failure is over.
import type { PlatformError } from '../port.ts'

export interface EndpointFailures {
  /** Reports a failure that is attributed to the platform. */
  suspect(subject: string, error: PlatformError): void
  /** Reports a failure. Answers undefined if nothing shows that it concerns only the endpoint, and `stop` if it may still concern the platform. */
  failed(subject: string, error: PlatformError): 'go-on' | 'stop' | undefined
  /** Reports a success. */
  answered(subject: string): void
}

interface Failure {
  readonly name: string
  /** Subjects whose requests failed at the endpoint. */
  readonly failed: Set<string>
  /** Subjects that have succeeded since. If one of these fails, that is a new failure. */
  readonly answered: Set<string>
  hasFailedAgain: boolean
  isCertain: boolean
}

/** Maximum number of endpoints that are remembered, and of subjects of each. The oldest is forgotten first. */
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

/** The endpoint without IDs, such as `GET /projects/:id/feature_flags`. */
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
