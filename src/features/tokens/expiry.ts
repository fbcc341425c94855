// Watches for ingest tokens that expire soon, and reports them as conditions that people may be notified about.
import { elapsed, type Clock } from '../../lib/clock.ts'
import { ownInstance, tokenNotice, type Condition } from '../../model/condition.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { ListedToken } from './listed-token.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'

/** The interval between two requests for the token list, ms. */
const minListInterval = 600_000

type WatchedToken = Pick<ListedToken, 'id' | 'name' | 'valid' | 'expiresAt'>

/**
 * Returns a function that returns the conditions of tokens. It lists the tokens at most once every ten minutes. In between, and if the instance does
 * not respond, it returns no conditions.
 */
export function watchExpiry(
  list: () => Promise<readonly WatchedToken[]>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): (now: Millis) => Promise<readonly Condition[]> {
  /** The watched tokens by id, with their expiry. They are kept because the instance may not list a revoked token. */
  const expiries = new Map<string, WatchedToken>()
  let listedAt = -Infinity

  return async now => {
    if (elapsed(clock) - listedAt < minListInterval) return []
    listedAt = elapsed(clock)
    let listed: readonly WatchedToken[]
    try {
      listed = await list()
    } catch (error) {
      log.warn(
        { reason: reasonOf(error) },
        'the ingest tokens cannot be listed, so it is unknown whether one expires soon',
      )
      return []
    }
    for (const token of listed) if (token.expiresAt !== undefined) expiries.set(token.id, token)
    return [...expiries].flatMap(([id, { expiresAt = Infinity, ...token }]) => {
      if (listed.some(one => one.id === id && one.valid)) return conditionOf(token, expiresAt, now)
      if (now < expiresAt) return conditionOf(token, Infinity, now)
      // An expired token was not replaced in time, so its condition stays broken and it is no longer watched.
      expiries.delete(id)
      return []
    })
  }
}

/** `expiresAt` is infinite for a token that was revoked in time. */
function conditionOf(
  { id, name = id }: { readonly id: string; readonly name?: string | undefined },
  expiresAt: Millis,
  now: Millis,
): Condition {
  const isBroken = expiresAt - now <= tokenNotice
  return {
    ...{ kind: 'tokens', instance: ownInstance, subject: `ingest token ${id}`, at: now, version: [Math.round(now)] },
    state: isBroken ? 'broken' : 'fixed',
    title: isBroken
      ? `Ingest token ${name} expires at ${new Date(expiresAt).toISOString()}`
      : `Ingest token ${name} was replaced`,
    text: isBroken
      ? 'After that the backend refuses telemetry: replace the token with pipespan tokens rotate.'
      : undefined,
    details: { 'platform.ingest.token.name': name },
  }
}
