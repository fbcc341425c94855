// Rotates a token: replaces the token in the target with a new one, so that a valid token is always in use.
//
//            create           write            prove           wait            revoke
//   (idle) ─ creating ─ created ─ writing ─ written ─ proved ─ waiting ─ seen ─ revoking ─ (idle)
//               │           │         │        └──────────────┴── kept: the next run resumes ───┘
//               └───────────┴─────────┴── rolled back: the new token is revoked ─ (idle)
//
// Each word is a step in the journal. Steps that end in -ing are saved before the action, the others after it. So if a run is killed at any point,
// the next one knows which actions may have been done: see recovery.ts.
//
// 1. creating: the listed token IDs are saved, then the token is created. If the response has no ID, the newly listed token is the new one.
// 2. created: the token's ID and fingerprint are saved. The endpoint must accept the token before the target is changed.
// 3. writing, written: the target's value is replaced atomically. If the run is killed, the fingerprint shows whether the target has the old or the
//    new value.
// 4. proved: the endpoint accepts the value that is read back from the target.
// 5. waiting, seen: every running daemon reports the new token. If one does not, the older tokens stay valid.
// 6. revoking: the new token is tested once more, then all older tokens of this target are revoked.
//
// The journal never contains the token's value. Therefore a run that was killed before it wrote to the target can only be rolled back. The target
// contains a valid token at every step, because the old one is revoked only after the new one is in use.
import { type Secret, fingerprintOf } from '../../lib/secret.ts'
import { expectation, waitForDaemons } from './daemon-reports.ts'
import {
  ageOf,
  blankJournal,
  hasReached,
  type HeldToken,
  adopted,
  disowned,
  over,
  revoked,
  stepped,
  written,
  RotationError,
} from './journal.ts'
import { createLogbook, newestJournal } from './logbook.ts'
import { makeToken, notHeld, proveWithRetries } from './new-token.ts'
import { recover } from './recovery.ts'
import { RotationBusy, type LockedTarget } from './target.ts'
import {
  defaultTiming,
  type RotationOptions,
  type RotationOutcome,
  type RotationParts,
  type RotationSession,
} from './rotation-session.ts'

/** Rotates the token, or finishes a rotation that an earlier run started. Throws a Fault if it cannot continue; the next run then takes over. */
export async function rotateToken(parts: RotationParts, options: RotationOptions): Promise<RotationOutcome> {
  let target: LockedTarget
  try {
    target = await parts.target.lock(holder => {
      void parts.progress('watching', `Another rotation has the lock (${holder}); waiting to see whether it is alive.`)
    })
  } catch (error) {
    if (error instanceof RotationBusy) return { kind: 'busy', reason: error.message }
    throw error
  }
  try {
    return await underLock(parts, options, target)
  } finally {
    // If the lock cannot be released, the next run takes it over once its lease expires.
    await target.release().catch(() => undefined)
  }
}

async function underLock(
  parts: RotationParts,
  options: RotationOptions,
  target: LockedTarget,
): Promise<RotationOutcome> {
  const { value, journal } = await target.read()
  const { address } = parts.target
  const newest = (await newestJournal(journal, address, parts.store)) ?? blankJournal(address, parts.instance.url)
  const isOfOtherInstance = newest.instance !== parts.instance.url
  // A journal written for another instance is not used: its token IDs do not exist on this instance, or belong to unrelated tokens.
  const opened = isOfOtherInstance
    ? { ...blankJournal(address, parts.instance.url), revision: newest.revision }
    : newest
  const log = createLogbook(opened, target, parts.store, parts.clock, parts.progress)
  const session: RotationSession = { parts, options, target, log, timing: { ...defaultTiming, ...parts.timing } }
  if (isOfOtherInstance) await log.warn(`The tokens of the previous instance (${newest.instance}) are left unchanged.`)

  if ((await recover(session, value)) === 'unfinished') {
    if (await isAccepted(session)) return await finish(session, true)
    await log.warn('The token in the target was revoked by someone else; a new one replaces it.')
    await log.advance(disowned(log.journal), 'over', 'A new rotation begins.')
  } else {
    const age = await ageIfYoung(session, value)
    if (age !== undefined) return { kind: 'young', ageMs: age, warnings: log.warnings }
  }
  await replace(session)
  if (await isAccepted(session)) return await finish(session, false)
  throw new RotationError(
    'The OTLP endpoint now refuses the token that it accepted before it was written to the target.',
    'Someone else may have revoked it: run again to replace it.',
  )
}

/** Returns the current token's age, ms; undefined if the token must be replaced. */
async function ageIfYoung(
  { parts, options, log }: RotationSession,
  value: Secret | undefined,
): Promise<number | undefined> {
  const { current } = log.journal
  if (options.maxAgeMs === undefined || current === undefined || value === undefined) return undefined
  const age = ageOf(current.since, parts.clock.now())
  if (age >= options.maxAgeMs) return undefined
  // A revoked token is replaced regardless of its age.
  const listed = await parts.instance.list()
  if (!listed.some(token => token.id === current.id && token.valid)) return undefined
  return (await parts.prove(value)).kind === 'refused' ? undefined : age
}

/** Performs steps 1 to 3 of a rotation: creates the new token and writes it to the target. */
async function replace(session: RotationSession): Promise<void> {
  const { log, parts, target } = session
  const value = await makeToken(session)
  const now = () => parts.clock.now()
  await log.advance(stepped(log.journal, 'writing', now()), 'writing', `Writing it to ${parts.target.address}.`)
  await target.write(value)
  await log.report('replaced', 'The target is replaced.')
  await log.advance(written(log.journal, now()), 'written', 'The target has the new token.')
}

/** Whether the endpoint accepts the token that is now in the target. Throws if the endpoint's response is inconclusive. */
async function isAccepted(session: RotationSession): Promise<boolean> {
  const { value } = await session.target.read()
  if (value === undefined || fingerprintOf(value) !== session.log.journal.current?.fingerprint) {
    throw new RotationError(
      'The target was changed by another writer during the rotation.',
      'Make sure that nothing else writes it, and run again.',
    )
  }
  const proof = await proveWithRetries(session, value)
  if (proof.kind !== 'unclear') return proof.kind === 'accepted'
  throw new RotationError(
    `The OTLP endpoint does not say whether it accepts the new token (${proof.reason}); the older tokens stay valid.`,
    'Run again when the endpoint is reachable: the rotation resumes from here.',
  )
}

/** Performs steps 4 to 6 of a rotation. The endpoint has just accepted the token in the target. */
async function finish(session: RotationSession, resumed: boolean): Promise<RotationOutcome> {
  const { log, parts, options } = session
  const now = () => parts.clock.now()
  const { rotation, current } = log.journal
  if (rotation?.token === undefined || current === undefined) {
    throw new RotationError('The journal has no rotation to finish.', 'Run again.')
  }
  if (!hasReached(rotation, 'proved')) {
    await log.advance(
      stepped(log.journal, 'proved', now()),
      'proved',
      'The OTLP endpoint accepts the token read from the target.',
    )
  }
  if (resumed && options.adopt) await adopt(session)
  const older = options.keepOlder === true ? [] : log.journal.older
  if (older.length > 0) {
    const missing = hasReached(rotation, 'seen') ? [] : await wait(session, rotation.token.fingerprint, older)
    if (missing.length > 0 && !options.force) return { kind: 'kept', missing, warnings: log.warnings }
    if (missing.length > 0) await log.warn(`Forced although a report is missing: ${missing.join(', ')}.`)
    await revokeAll(session, older)
  }
  await log.advance(over(log.journal), 'over', 'Done.')
  const { id: tokenId, fingerprint } = rotation.token
  return {
    kind: 'rotated',
    tokenId,
    fingerprint,
    revoked: older.map(token => token.id),
    resumed,
    warnings: log.warnings,
  }
}

/** Adopts older tokens in a resumed rotation. A fresh rotation adopts them before it creates its own token. */
async function adopt({ log, parts, options }: RotationSession): Promise<void> {
  const others = notHeld(await parts.instance.list(), options.name, log.journal)
  if (others.length === 0) return
  const step = log.journal.rotation?.step ?? 'proved'
  await log.advance(adopted(log.journal, others, parts.clock.now()), step, `Adopted: ${others.join(', ')}.`)
}

/** Waits until all daemons have reported the new token. Returns the daemons that did not report it in time. */
async function wait(
  session: RotationSession,
  fingerprint: string,
  older: readonly HeldToken[],
): Promise<readonly string[]> {
  const { log, parts } = session
  const now = () => parts.clock.now()
  const since = log.journal.rotation?.writtenAt ?? now()
  const sentence = `Waiting ${await expectation(parts, session.options)}`
  await log.advance(stepped(log.journal, 'waiting', now()), 'waiting', sentence)
  const former = older.flatMap(token => token.fingerprint ?? [])
  const waited = await waitForDaemons(session, fingerprint, former, since)
  if (waited.kind === 'missing') return waited.daemons
  await log.advance(stepped(log.journal, 'seen', now()), 'seen', 'The older tokens are no longer needed.')
  return []
}

async function revokeAll(session: RotationSession, older: readonly HeldToken[]): Promise<void> {
  const { log, parts } = session
  if (!(await isAccepted(session))) {
    throw new RotationError(
      'The OTLP endpoint now refuses the new token; the older tokens stay valid.',
      'Someone else may have revoked it: run again to replace it.',
    )
  }
  const ids = older.map(token => token.id).join(', ')
  await log.advance(stepped(log.journal, 'revoking', parts.clock.now()), 'revoking', `Revoking ${ids}.`)
  for (const { id } of older) {
    if ((await parts.instance.revoke(id)) === 'last') {
      throw new RotationError(
        `The instance refuses to revoke ${id}: it is the last valid token.`,
        'Run again: if someone else revoked the new token, it is replaced.',
      )
    }
    await log.advance(revoked(log.journal, id), 'revoked', `Token ${id} is revoked.`)
  }
}
