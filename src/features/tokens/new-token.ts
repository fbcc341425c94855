// The first steps of a rotation: creates a token, finds its ID, and checks that the endpoint accepts it.
import { elapsed } from '../../lib/clock.ts'
import { randomUUID } from 'node:crypto'
import { fingerprintOf, type Secret } from '../../lib/secret.ts'
import type { CreatedToken } from './client.ts'
import { InstanceError } from './instance-error.ts'
import { adopted, begun, created, deferred, over, type HeldToken, type Journal, RotationError } from './journal.ts'
import type { ListedToken } from './listed-token.ts'
import type { RotationSession } from './rotation-session.ts'
import type { Proof } from './otlp-proof.ts'

/**
 * Creates a token. Its value exists only in this process until it is written to the target. If the endpoint rejects the token, this function rolls
 * the rotation back and throws.
 */
export async function makeToken(session: RotationSession): Promise<Secret> {
  const { value, id } = await createAndIdentify(session)
  const { log, parts } = session
  const token = { id, fingerprint: fingerprintOf(value), since: parts.clock.now() }
  await log.advance(
    created(log.journal, token, token.since),
    'created',
    `Token ${id} (${token.fingerprint}) is created.`,
  )
  const proof = await proveWithRetries(session, value)
  if (proof.kind !== 'accepted') {
    const isRevoked = await discard(session, token)
    const reason = proof.kind === 'refused' ? `it responded with ${proof.status}` : proof.reason
    const end = isRevoked ? 'is revoked' : 'stays valid until the next rotation, because it is the last valid one'
    throw new RotationError(
      `The OTLP endpoint does not accept the new token (${reason}); the target is unchanged, and the new token ${end}.`,
      'Check that the OTLP endpoint belongs to the instance at PIPESPAN_OBSERVABILITY_URL, and that it can be reached.',
    )
  }
  await log.report('tried', 'The OTLP endpoint accepts it.')
  return value
}

async function createAndIdentify(session: RotationSession): Promise<{ value: Secret; id: string }> {
  const { log, parts, options } = session
  const { name } = options
  const listed = await parts.instance.list()
  const others = notHeld(listed, name, log.journal)
  if (others.length > 0 && !options.adopt) {
    await log.warn(
      `Tokens named "${name}" that may belong to another target stay valid: ${others.join(', ')}. ` +
        'If they belong to this target, rotate with --adopt; if not, give every target a unique name.',
    )
  }
  const at = parts.clock.now()
  const before = listed.filter(token => mayBeNamed(token, name)).map(token => token.id)
  const beginning = { id: randomUUID(), name, at, before, shared: others.length > 0 && !options.adopt }
  const owner = options.adopt ? adopted(log.journal, others, at) : log.journal
  await log.advance(begun(owner, beginning), 'creating', `Creating a token named "${name}".`)
  const answer = await create(session)
  await log.report('answered', 'The instance answered.')
  return { value: answer.value, id: answer.id ?? (await identify(session, before)) }
}

async function create(session: RotationSession): Promise<CreatedToken> {
  const { log, parts, options } = session
  try {
    return await parts.instance.create(options.name)
  } catch (error) {
    if (error instanceof InstanceError && !error.uncertain) {
      await log.advance(over(log.journal), 'over', 'No token was created.')
    } else {
      await log.warn('The token may have been created nevertheless: the next run looks for it and revokes it.')
    }
    throw error
  }
}

/** Finds a new token's ID if the creation response contains none: the new token is the one that was not listed before. */
async function identify(session: RotationSession, before: readonly string[]): Promise<string> {
  const { log, parts, timing, options, target } = session
  const until = elapsed(parts.clock) + timing.creationMs
  let fresh: readonly ListedToken[] = []
  for (;;) {
    fresh = appearedSince(await parts.instance.list(), options.name, before)
    const [first] = fresh
    if (first !== undefined && fresh.length === 1) return first.id
    if (fresh.length > 1 || elapsed(parts.clock) >= until) break
    await parts.clock.sleep(timing.pollMs)
    await target.renew()
  }
  if (fresh.length === 0) {
    throw new RotationError(
      'The instance created a new token, but does not list it; the target is unchanged.',
      'Run again: the next run looks for it and revokes it.',
    )
  }
  const ids = fresh.map(token => token.id)
  await log.advance(over(log.journal), 'over', 'The new token cannot be distinguished from others.')
  throw new RotationError(
    `Several tokens named "${options.name}" appeared at once (${ids.join(', ')}), and the instance does not say which one was created here; the target is unchanged.`,
    'Revoke the unused one, and give every target a unique name.',
  )
}

/** Returns the IDs of tokens that have this name but are not in the journal. They may belong to another target. */
export function notHeld(listed: readonly ListedToken[], name: string, journal: Journal): readonly string[] {
  const { older, current, rotation } = journal
  const known = new Set([...older, current, rotation?.token].map(token => token?.id))
  return listed.filter(token => token.valid && token.name === name && !known.has(token.id)).map(token => token.id)
}

/** Returns the valid tokens that were not listed before the creation and may have this name. */
export function appearedSince(
  listed: readonly ListedToken[],
  name: string,
  before: readonly string[],
): readonly ListedToken[] {
  return listed.filter(token => token.valid && mayBeNamed(token, name) && !before.includes(token.id))
}

function mayBeNamed(token: ListedToken, name: string): boolean {
  return token.name === undefined || token.name === name
}

/**
 * Rolls back a rotation by revoking its new token, which was never written to the target. Returns false if the token stays valid, because it is the
 * last valid one.
 */
export async function discard({ log, parts }: RotationSession, token: HeldToken): Promise<boolean> {
  const revocation = await parts.instance.revoke(token.id)
  if (revocation === 'last') {
    // No other token is valid any more, so this token must stay valid until a newer one exists.
    await log.advance(
      deferred(log.journal, token),
      'over',
      `Token ${token.id} is the last valid one and is kept for now.`,
    )
  } else {
    await log.advance(over(log.journal), 'over', `Token ${token.id} was never used and is revoked.`)
  }
  return revocation !== 'last'
}

/** Tests the token repeatedly until the endpoint accepts it or the timeout expires, because a new token may take a moment to become valid. */
export async function proveWithRetries({ parts, timing, target }: RotationSession, token: Secret): Promise<Proof> {
  const until = elapsed(parts.clock) + timing.proofTimeoutMs
  for (;;) {
    const proof = await parts.prove(token)
    if (proof.kind === 'accepted' || elapsed(parts.clock) >= until) return proof
    await parts.clock.sleep(timing.pollMs)
    await target.renew()
  }
}
