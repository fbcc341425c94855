// Finds out which listed tokens are in use. The instance lists IDs, daemons report fingerprints, and journals contain both.
import type { Journal } from './journal.ts'

/** `unknown`: a token whose ID is unknown is in use, and it may be this one. */
export type TokenUse = 'in use' | 'not in use' | 'unknown'

export interface UseEvidence {
  /** The journals of this instance. */
  readonly journals: readonly Journal[]
  /** The fingerprints of the tokens that daemons send now or will send when they start. */
  readonly used: ReadonlySet<string>
  /** False if the store did not answer, so that daemons may use further tokens. */
  readonly isComplete: boolean
}

export function useOf(id: string, { journals, used, isComplete }: UseEvidence): TokenUse {
  const fingerprints = new Map<string, string>()
  for (const { older, current, rotation } of journals) {
    for (const token of [...older, current, rotation?.token]) {
      if (token?.fingerprint !== undefined) fingerprints.set(token.id, token.fingerprint)
    }
  }
  // A token in a target counts as used, even if no daemon reports it.
  if (journals.some(journal => journal.current?.id === id)) return 'in use'
  const fingerprint = fingerprints.get(id)
  if (fingerprint !== undefined && used.has(fingerprint)) return 'in use'
  if (!isComplete) return 'unknown'
  if (fingerprint !== undefined) return 'not in use'
  const known = new Set(fingerprints.values())
  return [...used].every(token => known.has(token)) ? 'not in use' : 'unknown'
}
