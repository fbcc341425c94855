// Sends with the current token. If it is refused, it is read again, and a changed one is tried at once.
import type { Bearer, HeaderValues } from './destination.ts'
import type { Secret } from '../../lib/secret.ts'
import type { Verdict } from './verdict.ts'

/** One request, judged. Never rejects. `values`: for the templates of the headers. */
export type Transport = (
  body: Uint8Array,
  token: Secret | undefined,
  values: HeaderValues | undefined,
) => Promise<Verdict>

export interface Answered {
  readonly verdict: Verdict
  /** The token that the deciding request carried. */
  readonly token: Secret | undefined
}

/** The transport takes twice as long at most. */
export function withFreshToken(transport: Transport, bearer: Bearer | undefined) {
  return async (body: Uint8Array, values: HeaderValues | undefined): Promise<Answered> => {
    const token = bearer?.current()
    const verdict = await transport(body, token, values)
    if (verdict.as !== 'unauthorized' || bearer === undefined) return { verdict, token }
    await bearer.reload()
    const fresh = bearer.current()
    return sameSecret(fresh, token)
      ? { verdict, token }
      : { verdict: await transport(body, fresh, values), token: fresh }
  }
}

export function sameSecret(a: Secret | undefined, b: Secret | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b.reveal())
}
