// A target's journal: which tokens it has held, and how far a rotation has come. It never holds a token's value.
import { RotationError } from './rotation-error.ts'
import { rotationJournal, rotationSteps, type RotationJournal } from '../store/ports/token-documents.ts'
import type { RotationStep, RotationUnderWay } from '../store/ports/token-documents.ts'

export type { HeldToken, RotationStep, RotationUnderWay } from '../store/ports/token-documents.ts'
export type Journal = RotationJournal
export type NewToken = NonNullable<RotationUnderWay['token']>

export function blankJournal(target: string, instance: string): Journal {
  return { version: 1, revision: 0, target, instance, older: [] }
}

/** Reads a journal's JSON. Throws a RotationError for anything that this version did not write; `place` names it. */
export function parseJournal(text: string, place: string): Journal {
  try {
    return rotationJournal.parse(JSON.parse(text))
  } catch {
    throw new RotationError(
      `The rotation journal at ${place} cannot be read.`,
      'It may be damaged or of a newer version: restore it, or delete it and rotate once with --adopt.',
    )
  }
}

/** True from `step` on. */
export function hasReached(rotation: RotationUnderWay, step: RotationStep): boolean {
  return rotationSteps.indexOf(rotation.step) >= rotationSteps.indexOf(step)
}

/** Clocks of two hosts may differ by so much, ms. */
const skew = 600_000

/** A token's age, ms. One from further ahead was made by a clock that was wrong: then it may be as old as can be. */
export function ageOf(since: number, now: number): number {
  return since > now + skew ? Infinity : now - since
}
