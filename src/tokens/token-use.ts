// Which listed token is in use: the instance shows ids and no values, daemons report fingerprints, journals know both.
import type { Journal } from './journal.ts'

/** `unknown`: some token is in use whose id is not known, and it may be this one. */
export type TokenUse = 'in use' | 'not in use' | 'unknown'

export interface UseEvidence {
  /** Of this instance only. */
  readonly journals: readonly Journal[]
  /** Fingerprints of the tokens that daemons send, or will when they start. */
  readonly used: ReadonlySet<string>
  /** False when the store did not answer: daemons may use more. */
  readonly whole: boolean
}

export function useOf(id: string, { journals, used, whole }: UseEvidence): TokenUse {
  const fingerprints = new Map<string, string>()
  for (const { older, current, rotation } of journals) {
    for (const token of [...older, current, rotation?.token]) {
      if (token?.fingerprint !== undefined) fingerprints.set(token.id, token.fingerprint)
    }
  }
  // What lies in a target is read by somebody, whether or not a report says so.
  if (journals.some(journal => journal.current?.id === id)) return 'in use'
  const fingerprint = fingerprints.get(id)
  if (fingerprint !== undefined && used.has(fingerprint)) return 'in use'
  if (!whole) return 'unknown'
  if (fingerprint !== undefined) return 'not in use'
  const known = new Set(fingerprints.values())
  return [...used].every(token => known.has(token)) ? 'not in use' : 'unknown'
}
