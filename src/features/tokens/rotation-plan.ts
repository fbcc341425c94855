// Plans a token rotation (`--dry-run`). Planning takes no lock, writes no journal, and sends no request that changes anything.
import { expectation } from './daemon-reports.ts'
import { fingerprintOf } from '../../lib/secret.ts'
import { ageOf, blankJournal } from './journal.ts'
import { newestJournal } from './logbook.ts'
import { notHeld } from './new-token.ts'
import type { RotationOptions, RotationParts } from './rotation-session.ts'

/** Returns a rotation's plan, one sentence per line. Throws a Fault if the target or the observability instance cannot be read. */
export async function planRotation(parts: RotationParts, options: RotationOptions): Promise<readonly string[]> {
  const { instance, target, store, clock } = parts
  const { value, journal: beside } = await target.peek()
  const found = await newestJournal(beside, target.address, store)
  const journal = found?.instance === instance.url ? found : undefined
  const listed = await instance.list()
  const enforced = await instance.enforcement()
  const inTarget = value === undefined ? undefined : fingerprintOf(value)
  const { rotation, current } = journal ?? {}
  const lines = [
    `Valid tokens of the instance: ${listed.filter(token => token.valid).length}; enforcement is ${enforced ? 'on' : 'off'}.`,
    inTarget === undefined
      ? `${target.address} contains no token yet.`
      : `${target.address} contains a token (${inTarget}).`,
  ]
  const proof = value && (await parts.prove(value))
  if (proof !== undefined) lines.push(`The OTLP endpoint: ${proof.kind}.`)

  if (rotation !== undefined) {
    const isResumable = rotation.token !== undefined && rotation.token.fingerprint === inTarget
    const end = isResumable ? 'finish it' : 'roll it back, revoke its token, and start a new one'
    lines.push(`A rotation stopped at "${rotation.step}": this run would ${end}.`)
    if (isResumable) return [...lines, revocations(journal?.older.map(token => token.id) ?? [])]
  } else if (current !== undefined && current.fingerprint === inTarget && options.maxAgeMs !== undefined) {
    const age = ageOf(current.since, clock.now())
    const alive = listed.some(token => token.id === current.id && token.valid)
    if (alive && age < options.maxAgeMs && proof?.kind !== 'refused')
      return [...lines, 'The current token is younger than --max-age: nothing to do.']
  }

  const held = [...(journal?.older ?? []), ...(current === undefined ? [] : [current])].map(token => token.id)
  const others = notHeld(listed, options.name, journal ?? blankJournal(target.address, instance.url))
  lines.push(`Create a token named "${options.name}", and check that the OTLP endpoint accepts it.`)
  lines.push(`Write it to ${target.address}, read it back, and check that the endpoint accepts it.`)
  if (options.keepOlder === true) return [...lines, 'Leave the older tokens for the next rotation.']
  const older = options.adopt ? [...held, ...others] : held
  if (older.length > 0) lines.push(`Wait ${await expectation(parts, options)}`)
  lines.push(revocations(older))
  if (others.length > 0 && !options.adopt) {
    lines.push(`Leave valid, because they may belong to another target (see --adopt): ${others.join(', ')}.`)
  }
  return lines
}

function revocations(ids: readonly string[]): string {
  return ids.length === 0 ? 'Revoke nothing.' : `Then revoke ${ids.join(', ')}.`
}
