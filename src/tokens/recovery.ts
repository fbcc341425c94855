// What the next run makes of a rotation that died: finished when its token is in the target, else rolled back.
//
// | the journal's step | in the target | what is done |
// |---|---|---|
// | creating | – | the token that appeared since is revoked, if it can be distinguished; a new rotation may begin |
// | created, writing | another value | the new token, whose value is lost, is revoked; a new rotation may begin |
// | created, writing | the new token | the write had succeeded: it is noted, and the rotation goes on |
// | written … revoking | the new token | the rotation goes on |
// | written … revoking | another value | somebody else wrote it: the new token counts as an older one; a new rotation may begin |
import type { Secret } from '../lib/secret.ts'
import { fingerprintOf } from './fingerprint.ts'
import { hasReached, type RotationUnderWay } from './journal.ts'
import { disowned, over, written } from './journal-entries.ts'
import type { ListedToken } from './listed-token.ts'
import { appearedSince, discard } from './new-token.ts'
import type { RotationSession } from './rotation-session.ts'

/** A token created this long after (or, with clocks apart, before) a creation that died is taken for its orphan, ms. */
const orphanWindowMs = 600_000

/** `unfinished`: the rotation's token is in the target, and the steps after `written` are to be taken. */
export async function recover(session: RotationSession, value: Secret | undefined): Promise<'unfinished' | 'clear'> {
  const { log, parts } = session
  const { rotation, current } = log.journal
  const inTarget = value === undefined ? undefined : fingerprintOf(value)
  if (rotation === undefined) {
    if (current !== undefined && current.fingerprint !== inTarget) {
      await log.warn('The target was changed by another writer: the id of its token is unknown.')
      await log.advance(disowned(log.journal), 'over', `Token ${current.id} counts as an older one.`)
    }
    return 'clear'
  }
  await log.report('recovering', `A rotation stopped at "${rotation.step}"; this run resumes it.`)
  const { token } = rotation
  if (token === undefined) {
    await clearCreation(session, rotation)
    return 'clear'
  }
  if (token.fingerprint === inTarget) {
    if (!hasReached(rotation, 'written')) {
      await log.advance(written(log.journal, parts.clock.now()), 'written', 'Its token is in the target already.')
    }
    return 'unfinished'
  }
  if (hasReached(rotation, 'written')) {
    await log.warn('The target was changed by another writer during the rotation.')
    await log.advance(disowned(log.journal), 'over', `Token ${token.id} counts as an older one.`)
  } else {
    await discard(session, token)
  }
  return 'clear'
}

async function clearCreation(session: RotationSession, rotation: RotationUnderWay): Promise<void> {
  const { log, parts, pace, target } = session
  // A clock that was ahead may have written it.
  const until = Math.min(rotation.startedAt, parts.clock.now()) + pace.creationMs
  let found: readonly ListedToken[] = []
  for (;;) {
    found = appearedSince(await parts.instance.list(), rotation.name, rotation.before).filter(token =>
      mayBeOf(rotation, token),
    )
    // A creation that was on its way when its sender died may show a moment later.
    if (found.length > 0 || parts.clock.now() >= until) break
    await parts.clock.sleep(Math.min(pace.pollMs, until - parts.clock.now()))
    await target.renew()
  }
  const [orphan] = found
  if (orphan === undefined) {
    await log.advance(over(log.journal), 'over', 'It had not created a token.')
  } else if (found.length === 1 && isSurelyOf(rotation, orphan, parts.clock.now())) {
    await discard(session, { id: orphan.id, since: rotation.startedAt })
  } else {
    const ids = found.map(token => token.id)
    await log.warn(
      `One of these tokens may be unused, left by a rotation that died: ${ids.join(', ')}. ` +
        'Other targets use the same name, so it is not revoked automatically: revoke it manually, or rotate with --adopt.',
    )
    await log.advance(over(log.journal), 'over', 'A token that it may have created stays valid.')
  }
}

function mayBeOf(rotation: RotationUnderWay, { createdAt }: ListedToken): boolean {
  return createdAt === undefined || Math.abs(createdAt - rotation.startedAt) <= orphanWindowMs
}

/** Without a time of creation, another cluster that is seen to use the name could have made it since. */
function isSurelyOf(rotation: RotationUnderWay, { createdAt }: ListedToken, now: number): boolean {
  return createdAt !== undefined || !rotation.shared || now - rotation.startedAt <= orphanWindowMs
}
