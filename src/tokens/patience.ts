// Tests a token at the OTLP endpoint until it is accepted, for a while, because a new token may take a moment to become valid.
import { elapsed } from '../lib/clock.ts'
import type { Secret } from '../lib/secret.ts'
import type { Proof } from './otlp-proof.ts'
import type { RotationSession } from './rotation-session.ts'

export async function provePatiently({ parts, pace, target }: RotationSession, token: Secret): Promise<Proof> {
  const until = elapsed(parts.clock) + pace.patienceMs
  for (;;) {
    const proof = await parts.prove(token)
    if (proof.kind === 'accepted' || elapsed(parts.clock) >= until) return proof
    await parts.clock.sleep(pace.pollMs)
    await target.renew()
  }
}
