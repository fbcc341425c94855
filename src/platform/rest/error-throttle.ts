// What is wrong with the platform is told once, not once a round; and that it is over is told too.
//
// A failure that could be one project's own (a time-out, a 5xx, a broken answer) waits for what comes next: an answer
// shows that it was, a few more failures in a row that it is the platform's. So an outage is one message, not thousands.
import type { Log } from '../../lib/log.ts'
import type { PlatformError } from './platform-error.ts'

export interface Troubles {
  /** `stop`: any other request would fail likewise, so asking on makes no sense for now. */
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

export function createTroubles(log: Log): Troubles {
  const told = new Map<string, PlatformError>()
  let unclear: { subject: string; error: PlatformError }[] = []

  function tell(subject: string, error: PlatformError): void {
    if (told.get(subject)?.kind === error.kind) return
    told.delete(subject)
    told.set(subject, error)
    const [oldest] = told.keys()
    if (told.size > capacity && oldest !== undefined) told.delete(oldest)
    log.warn({ subject, kind: error.kind }, error.message)
  }

  function over(subject: string): void {
    if (told.delete(subject)) log.info({ subject }, `${subject} answers again`)
  }

  return {
    failed: (subject, error) => {
      switch (scopeOf(error)) {
        case 'platform':
          tell(platform, error)
          return 'stop'
        case 'subject':
          tell(subject, error)
          return 'go-on'
        case 'unclear':
          unclear.push({ subject, error })
          if (unclear.length < tooMany) return 'go-on'
          tell(platform, error)
          unclear = []
          return 'stop'
      }
    },
    answered: subject => {
      // What failed while the platform did needs no word of its own.
      const own = told.has(platform) ? [] : unclear.filter(one => one.subject !== subject)
      unclear = []
      for (const one of own) tell(one.subject, one.error)
      over(subject)
      over(platform)
    },
    ofPlatform: () => told.get(platform),
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
