// Recovers from a rotation that an earlier run left unfinished: finishes it if its token is in the target, otherwise rolls it back.
//
// | step in the journal | in the target | action |
// |---|---|---|
// | creating | – | the token that has appeared since is revoked, if it can be identified; a new rotation may begin |
// | created, writing | another value | the new token's value is lost, so the token is revoked; a new rotation may begin |
// | created, writing | the new token | the write has succeeded; this is recorded, and the rotation continues |
// | written … revoking | the new token | the rotation continues |
// | written … revoking | another value | another writer has overwritten it, so the new token becomes an older one; a new rotation may begin |
import { type Secret, fingerprintOf } from '../../lib/secret.ts'
import { hasReached, type RotationUnderWay, disowned, over, written } from './journal.ts'
import type { ListedToken } from './listed-token.ts'
import { appearedSince, discard } from './new-token.ts'
import type { RotationSession } from './rotation-session.ts'

/**
 * The maximum time between an unfinished creation and the creation time of its token, ms. The token may appear older than the creation, because
 * clocks differ.
 */
const orphanWindowMs = 600_000

/**
 * Recovers from an unfinished rotation. Returns `unfinished` if the rotation's token is in the target, so that only the steps after `written` remain.
 */
export async function recover(session: RotationSession, value: Secret | undefined): Promise<'unfinished' | 'clear'> {
  const { log, parts } = session
  const { rotation, current } = log.journal
  const inTarget = value === undefined ? undefined : fingerprintOf(value)
  if (rotation === undefined) {
    if (current !== undefined && current.fingerprint !== inTarget) {
      await log.warn('The target was changed by another writer: the id of its token is unknown.')
      await log.advance(disowned(log.journal), 'over', `Token ${current.id} is treated as an older one.`)
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
    await log.advance(disowned(log.journal), 'over', `Token ${token.id} is treated as an older one.`)
  } else {
    await discard(session, token)
  }
  return 'clear'
}

async function clearCreation(session: RotationSession, rotation: RotationUnderWay): Promise<void> {
  const { log, parts, timing, target } = session
  // The deadline is at most `creationMs` from now, because the clock may have been ahead when `startedAt` was written.
  const until = Math.min(rotation.startedAt, parts.clock.now()) + timing.creationMs
  let found: readonly ListedToken[] = []
  for (;;) {
    found = appearedSince(await parts.instance.list(), rotation.name, rotation.before).filter(token =>
      mayBeOf(rotation, token),
    )
    // The token may appear a moment later, because the creation request may still have been in flight when its sender was killed.
    if (found.length > 0 || parts.clock.now() >= until) break
    await parts.clock.sleep(Math.min(timing.pollMs, until - parts.clock.now()))
    await target.renew()
  }
  const [orphan] = found
  if (orphan === undefined) {
    await log.advance(over(log.journal), 'over', 'The unfinished rotation had not created a token.')
  } else if (found.length === 1 && isSurelyOf(rotation, orphan, parts.clock.now())) {
    await discard(session, { id: orphan.id, since: rotation.startedAt })
  } else {
    const ids = found.map(token => token.id)
    await log.warn(
      `One of these tokens may be unused, because an earlier rotation was killed: ${ids.join(', ')}. ` +
        'Other targets use the same name, so it is not revoked automatically: revoke it manually, or rotate with --adopt.',
    )
    await log.advance(over(log.journal), 'over', 'A token that the unfinished rotation may have created stays valid.')
  }
}

function mayBeOf(rotation: RotationUnderWay, { createdAt }: ListedToken): boolean {
  return createdAt === undefined || Math.abs(createdAt - rotation.startedAt) <= orphanWindowMs
}

/**
 * Whether the token certainly belongs to this rotation. If the token has no creation time and other targets use the same name, only a recent rotation
 * counts as certain.
 */
function isSurelyOf(rotation: RotationUnderWay, { createdAt }: ListedToken, now: number): boolean {
  return createdAt !== undefined || !rotation.shared || now - rotation.startedAt <= orphanWindowMs
}
