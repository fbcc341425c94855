// A target's journal: which tokens it has held, and how far a rotation has come. It never holds a token's value.
import { z } from 'zod'
import { RotationError } from './rotation-error.ts'

const held = z.object({
  id: z.string(),
  /** Undefined for adopted tokens: their values were never seen. */
  fingerprint: z.string().optional(),
  /** When it was created, or adopted; Unix ms. */
  since: z.number(),
})

/** In the order of the sequence; each stands in the journal before or after its step is taken. */
export const rotationSteps = [
  'creating',
  'created',
  'writing',
  'written',
  'proved',
  'waiting',
  'seen',
  'revoking',
] as const

const rotation = z.object({
  id: z.string(),
  name: z.string(),
  startedAt: z.number(),
  step: z.enum(rotationSteps),
  /** Every token listed before the creation. */
  before: z.array(z.string()),
  /** True when tokens of this name were listed that this target is not known to have held. */
  shared: z.boolean(),
  /** The new token, from `created` on. */
  token: held.required({ fingerprint: true }).optional(),
  /** When the target was written, Unix ms. */
  writtenAt: z.number().optional(),
  history: z.array(z.object({ step: z.string(), at: z.number() })),
})

const journal = z.object({
  version: z.literal(1),
  /** Grows with every change: of two copies the higher one is newer. */
  revision: z.number(),
  /** As given to `--target`. */
  target: z.string(),
  /** The observability instance that the ids belong to. */
  instance: z.string(),
  /** The token in the target, as far as its id is known. */
  current: held.optional(),
  /** Held before, to be revoked as soon as the newest one is in use everywhere. */
  older: z.array(held),
  /** The rotation under way, or the one that died. */
  rotation: rotation.optional(),
})

export type HeldToken = z.infer<typeof held>
export type RotationStep = (typeof rotationSteps)[number]
export type RotationUnderWay = z.infer<typeof rotation>
export type NewToken = NonNullable<RotationUnderWay['token']>
export type Journal = z.infer<typeof journal>

export function blankJournal(target: string, instance: string): Journal {
  return { version: 1, revision: 0, target, instance, older: [] }
}

/** Reads a journal's JSON. Throws a RotationError for anything that this version did not write; `place` names it. */
export function parseJournal(text: string, place: string): Journal {
  try {
    return journal.parse(JSON.parse(text))
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
