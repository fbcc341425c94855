// Sessions of people who logged in. A cookie holds an id that nobody can guess; what it stands for is a document in the store, so
// that every replica knows it and all of them forget it when somebody logs out. The store holds a digest of the id, keyed by the
// admin token: whoever reads the store has no cookie, and a new token ends every session.
//
// Where the store takes no writes, as on a full disk, people still have to look at the pages: then a session begins in this
// process alone, and one that ends there is erased from the store when it takes writes again and somebody logs in or tries it.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { reasonOf } from '../lib/fault.ts'
import type { Json, Notes } from '../store/ports/notes.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Secret } from '../lib/secret.ts'

export const sessionCookie = 'pipespan_session'
/** A working day and a bit, ms. */
export const sessionLife = 12 * 3_600_000
/** Sessions at once; a new one ends the oldest. */
export const mostSessions = 500
/** By which clocks of replicas may differ, ms. */
const clockSlack = 3_600_000

export interface Session {
  /** Of the cookie; in a form it stands as its token only. */
  readonly id: string
}

export interface Sessions {
  /** A new one: what its cookie holds. */
  begin(token: Secret): Promise<string>
  /** Undefined for a cookie that is none of ours, too old, or of somebody who logged out. */
  find(token: Secret, cookie: string | undefined): Promise<Session | undefined>
  end(token: Secret, session: Session): Promise<void>
}

export interface SessionParts {
  readonly notes: Pick<Notes, 'readAt' | 'change' | 'list'>
  readonly now: () => Millis
  readonly log: Log
}

const prefix = 'session/'

export function createSessions({ notes, now, log }: SessionParts): Sessions {
  /** Begun while the store took no writes, by name. */
  const unwritten = new Map<string, Millis>()
  /** Ended while the store took no writes. */
  const unerased = new Map<string, Millis>()

  async function erase(name: string): Promise<void> {
    await notes.change(name, () => ({ value: undefined, result: undefined }))
  }

  /** Forgets what has run out, and the oldest beyond the limit. */
  async function makeRoom(): Promise<void> {
    const { now: at } = await notes.readAt(prefix)
    const stored = [...(await notes.list(prefix))].map(([name, value]) => [name, untilOf(value)] as const)
    const living = stored
      .filter(([name, until]) => isCurrent(until, at) && !unerased.has(name))
      .sort(([, a], [, b]) => b - a)
    const remaining = new Set(living.slice(0, mostSessions - 1).map(([name]) => name))
    for (const [name] of stored) if (!remaining.has(name)) await erase(name)
    unerased.clear()
  }

  return {
    begin: async token => {
      const id = randomBytes(32).toString('base64url')
      const name = nameOf(token, id)
      try {
        await makeRoom()
        await notes.change(name, (_, at) => ({ value: { until: at + sessionLife }, result: undefined }))
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'the store takes no session: this one lives in this process alone')
        remember(unwritten, name, now() + sessionLife)
      }
      return id
    },
    find: async (token, cookie) => {
      if (cookie === undefined || !/^[\w-]{43}$/.test(cookie)) return undefined
      const name = nameOf(token, cookie)
      if (unerased.has(name)) {
        void erase(name).then(
          () => unerased.delete(name),
          () => undefined,
        )
        return undefined
      }
      const own = unwritten.get(name)
      if (own !== undefined) return isCurrent(own, now()) ? { id: cookie } : undefined
      const { value, now: at } = await notes.readAt(name)
      return value !== undefined && isCurrent(untilOf(value), at) ? { id: cookie } : undefined
    },
    end: async (token, { id }) => {
      const name = nameOf(token, id)
      if (unwritten.delete(name)) return
      try {
        await erase(name)
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'a session that ended could not be erased from the store yet')
        remember(unerased, name, now() + sessionLife)
      }
    },
  }
}

/** Neither past nor further ahead than any session is: a clock that was wrong gives no longer life. */
function isCurrent(until: Millis, now: Millis): boolean {
  return until > now && until <= now + sessionLife + clockSlack
}

function untilOf(value: Json): Millis {
  const until = typeof value === 'object' && value !== null && 'until' in value ? value.until : undefined
  return typeof until === 'number' ? until : 0
}

function remember(names: Map<string, Millis>, name: string, until: Millis): void {
  names.set(name, until)
  const [oldest] = names.keys()
  if (names.size > mostSessions && oldest !== undefined) names.delete(oldest)
}

function nameOf(token: Secret, id: string): string {
  return `${prefix}${keyed(token, 'session', id)}`
}

function keyed(token: Secret, purpose: 'session' | 'form', text: string): string {
  const key = createHmac('sha256', token.reveal()).update(`pipespan ${purpose}`).digest()
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Stands in every form of a session, where no other site can read it. */
export function formToken(key: Secret, id: string): string {
  return keyed(key, 'form', id)
}

export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The value of a cookie by its name (RFC 6265, 4.2.1). */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.split('=', 2)
    if (key?.trim() === name) return value?.trim()
  }
  return undefined
}
