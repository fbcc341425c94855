// A target's journal: which tokens it has had, and the progress of a rotation. It never contains a token's value.
import { RotationError } from './rotation-error.ts'
import { rotationJournal, rotationSteps, type RotationJournal } from '../store/ports/token-documents.ts'
import type { RotationStep, RotationUnderWay } from '../store/ports/token-documents.ts'

export type { HeldToken, RotationStep, RotationUnderWay } from '../store/ports/token-documents.ts'
export type Journal = RotationJournal
export type NewToken = NonNullable<RotationUnderWay['token']>

export function blankJournal(target: string, instance: string): Journal {
  return { version: 1, revision: 0, target, instance, older: [] }
}

/** Parses a journal's JSON. Throws a RotationError, which names `place`, for anything that this version did not write. */
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

/** Whether the rotation is at `step` or later. */
export function hasReached(rotation: RotationUnderWay, step: RotationStep): boolean {
  return rotationSteps.indexOf(rotation.step) >= rotationSteps.indexOf(step)
}

/** How much the clocks of two hosts may differ, ms. */
const skew = 600_000

/** A token's age, ms. Infinity for a time too far in the future: that clock was wrong, so the token may be any age. */
export function ageOf(since: number, now: number): number {
  return since > now + skew ? Infinity : now - since
}
