// A target's journal records the tokens that the target has had and the progress of a rotation. Each function here applies one event of a rotation
// to the journal. Pure. A journal never contains a token's value.
import { Fault } from '../../lib/fault.ts'
import {
  rotationJournal,
  rotationSteps,
  type HeldToken,
  type RotationJournal,
  type RotationStep,
  type RotationUnderWay,
} from './documents.ts'

export type { HeldToken, RotationStep, RotationUnderWay }
export type Journal = RotationJournal
export type NewToken = NonNullable<RotationUnderWay['token']>

export function blankJournal(target: string, instance: string): Journal {
  return { version: 1, revision: 0, target, instance, older: [] }
}

/**
 * Parses the JSON of a journal. Throws a RotationError that names `place` if the journal is damaged or was written by a newer version of Pipespan.
 */
export function parseJournal(text: string, place: string): Journal {
  try {
    return rotationJournal.parse(JSON.parse(text))
  } catch {
    throw new RotationError(
      `The rotation journal at ${place} cannot be read.`,
      'It may be damaged, or written by a newer version: restore it, or delete it and rotate once with --adopt.',
    )
  }
}

/** Whether the rotation has reached `step` or a later one. */
export function hasReached(rotation: RotationUnderWay, step: RotationStep): boolean {
  return rotationSteps.indexOf(rotation.step) >= rotationSteps.indexOf(step)
}

/** The maximum difference between the clocks of two hosts, ms. */
const maxSkew = 600_000

/**
 * Returns the age of a token, ms. It is Infinity if `since` is too far in the future: the clock was wrong at that time, so the token may have any
 * age.
 */
export function ageOf(since: number, now: number): number {
  return since > now + maxSkew ? Infinity : now - since
}

interface Beginning {
  readonly id: string
  readonly name: string
  readonly at: number
  /** The ids of the currently listed tokens with this name. */
  readonly before: readonly string[]
  readonly shared: boolean
}

/** Records that the operator has declared these tokens to belong to this target. */
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

/** Records that the new token was written to the target. The previous token is added to the older tokens. */
export function written(journal: Journal, at: number): Journal {
  const { rotation } = stepped(journal, 'written', at)
  if (rotation?.token === undefined) return journal
  return { ...retired(journal), current: rotation.token, rotation: { ...rotation, writtenAt: at } }
}

/** Records that the rotation has reached a step, without further changes. */
export function stepped(journal: Journal, step: RotationStep, at: number): Journal {
  const { rotation } = journal
  if (rotation === undefined) return journal
  return { ...journal, rotation: { ...rotation, step, history: [...rotation.history, { step, at }] } }
}

export function revoked(journal: Journal, id: string): Journal {
  return { ...journal, older: journal.older.filter(token => token.id !== id) }
}

/** Records that the rotation is over: completed, or completely rolled back. */
export function over(journal: Journal): Journal {
  const { rotation: _, ...rest } = journal
  return rest
}

/** Records that the rotation was rolled back, but its token could not be revoked yet. The next rotation revokes it. */
export function deferred(journal: Journal, token: HeldToken): Journal {
  return { ...over(journal), older: [...journal.older, token] }
}

/**
 * Ends the rotation because another writer has changed the target, or because the rotation's token was revoked. The token is added to the older ones,
 * which the next rotation revokes.
 */
export function disowned(journal: Journal): Journal {
  return over(retired(journal))
}

function retired(journal: Journal): Journal {
  const { current, ...rest } = journal
  return current === undefined ? rest : { ...rest, older: [...journal.older, current] }
}

/** Thrown if a rotation cannot start or continue. Nothing is lost: the next run finishes it or rolls it back. The error never contains a token. */
export class RotationError extends Fault {}
