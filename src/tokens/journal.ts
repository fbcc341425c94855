// A target's journal: which tokens it has had, and the progress of a rotation; and how each event of a rotation changes it. Pure. It never
// contains a token's value.
import { RotationError } from './rotation-error.ts'
import {
  rotationJournal,
  rotationSteps,
  type HeldToken,
  type RotationJournal,
  type RotationStep,
  type RotationUnderWay,
} from '../store/ports/token-documents.ts'

export type { HeldToken, RotationStep, RotationUnderWay }
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

interface Beginning {
  readonly id: string
  readonly name: string
  readonly at: number
  /** The ids of all tokens that are listed now. */
  readonly before: readonly string[]
  readonly shared: boolean
}

/** The operator declares that these tokens belong to this target. */
export function adopted(journal: Journal, ids: readonly string[], at: number): Journal {
  return { ...journal, older: [...journal.older, ...ids.map(id => ({ id, since: at }))] }
}

export function begun(journal: Journal, { id, name, at, before, shared }: Beginning): Journal {
  return {
    ...journal,
    rotation: {
      id,
      name,
      startedAt: at,
      step: 'creating',
      before: [...before],
      shared,
      history: [{ step: 'creating', at }],
    },
  }
}

export function created(journal: Journal, token: NewToken, at: number): Journal {
  const { rotation } = stepped(journal, 'created', at)
  return rotation === undefined ? journal : { ...journal, rotation: { ...rotation, token } }
}

/** The new token is in the target; the previous one becomes an older one. */
export function written(journal: Journal, at: number): Journal {
  const { rotation } = stepped(journal, 'written', at)
  if (rotation?.token === undefined) return journal
  return { ...retired(journal), current: rotation.token, rotation: { ...rotation, writtenAt: at } }
}

/** Any other step of the sequence. */
export function stepped(journal: Journal, step: RotationStep, at: number): Journal {
  const { rotation } = journal
  if (rotation === undefined) return journal
  return { ...journal, rotation: { ...rotation, step, history: [...rotation.history, { step, at }] } }
}

export function revoked(journal: Journal, id: string): Journal {
  return { ...journal, older: journal.older.filter(token => token.id !== id) }
}

/** The rotation is over: done, or completely rolled back. */
export function over(journal: Journal): Journal {
  const { rotation: _, ...rest } = journal
  return rest
}

/** Rolled back, but its token could not be revoked yet. The next rotation revokes it. */
export function deferred(journal: Journal, token: HeldToken): Journal {
  return { ...over(journal), older: [...journal.older, token] }
}

/** Somebody else changed the target or revoked its token: the token counts as an older one, and no rotation is under way. */
export function disowned(journal: Journal): Journal {
  return over(retired(journal))
}

function retired(journal: Journal): Journal {
  const { current, ...rest } = journal
  return current === undefined ? rest : { ...rest, older: [...journal.older, current] }
}
