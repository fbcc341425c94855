// A question of the suite: what is measured, against what in the same run, and what ratio is asked for.
import { median as medianOf } from '../src/lib/quantile.ts'
import { watchOthers } from './quiet.ts'

export interface Question {
  /** For `--only`. */
  readonly id: string
  readonly name: string
  /** The limit or rival. */
  readonly against: string
  readonly asked: { readonly atLeast: number; readonly aim?: number } | { readonly atMost: number }
  readonly unit: string
  readonly times: { readonly full: number; readonly quick: number }
  /** How it is measured: what one must know to read the figures. In the quick suite, what is smaller there. */
  readonly terms: (quick: boolean) => string
  /** Rounds, as many as are taken: both sides of a ratio are measured next to each other. What they share ends with them. */
  readonly rounds: (quick: boolean) => AsyncGenerator<Round, void, void>
}

/** Ours and the rival's figure, in the same unit. */
export interface Round {
  readonly ours: number
  readonly rival: number
  /** More that was seen. */
  readonly seen?: string
}

interface Asked {
  readonly id: string
  readonly name: string
  readonly against: string
  readonly asked: string
  readonly terms: string
  readonly measuredAt: string
}

export interface Measured extends Asked {
  readonly unit: string
  /** Medians. */
  readonly ours: number
  readonly rival: number
  /** Median of the rounds' ratios, ours over the rival's. */
  readonly ratio: number
  /** Lowest and highest round. */
  readonly spread: readonly [number, number]
  readonly rounds: number
  readonly met: boolean
  /** Of the last round. */
  readonly seen?: string
}

export interface Failed extends Asked {
  /** Why there is no figure. */
  readonly failed: string
}

export type Answer = Measured | Failed

/** Above this share of the processors, something else ran that is part of no measurement. The kernel's own work counts, too. */
const quiet = 0.1

/** Never rejects: a question that cannot be answered says why. */
export async function answer(question: Question, quick: boolean): Promise<Answer> {
  const { id, name, against, asked, unit } = question
  const common = {
    ...{ id, name, against },
    asked:
      'atMost' in asked
        ? `≤ ${asked.atMost}`
        : `≥ ${asked.atLeast}${asked.aim === undefined ? '' : `, aim ${asked.aim}`}`,
    terms: question.terms(quick),
    measuredAt: new Date().toISOString(),
  }
  try {
    const others = watchOthers()
    const rounds = await roundsOf(question, quick)
    const share = others()
    const ratios = rounds.map(({ ours, rival }) => ours / rival)
    const ratio = median(ratios)
    const noise = share > quiet ? [`others took ${(share * 100).toFixed(0)} % of the processors: measure again`] : []
    const seen = [rounds.at(-1)?.seen ?? [], noise].flat().join('; ')
    return {
      ...common,
      ...{ unit, ratio },
      ours: median(rounds.map(({ ours }) => ours)),
      rival: median(rounds.map(({ rival }) => rival)),
      spread: [Math.min(...ratios), Math.max(...ratios)],
      rounds: rounds.length,
      met: 'atMost' in asked ? ratio <= asked.atMost : ratio >= asked.atLeast,
      ...(seen === '' ? {} : { seen }),
    }
  } catch (error) {
    return { ...common, failed: error instanceof Error ? error.message : String(error) }
  }
}

async function roundsOf({ rounds, times }: Question, quick: boolean): Promise<Round[]> {
  const taken: Round[] = []
  for await (const round of rounds(quick)) {
    taken.push(round)
    if (taken.length >= (quick ? times.quick : times.full)) break
  }
  return taken
}

/** The rival before and after each of ours; the mean of the two is what ours is held against. */
export async function* interleaved<T>(
  rival: () => Promise<number>,
  ours: () => Promise<T>,
  roundOf: (ours: T) => Omit<Round, 'rival'>,
): AsyncGenerator<Round, void, void> {
  let before = await rival()
  for (;;) {
    const round = roundOf(await ours())
    const after = await rival()
    yield { ...round, rival: (before + after) / 2 }
    before = after
  }
}

/** Not a number without values. */
export function median(values: readonly number[]): number {
  return medianOf(values) ?? Number.NaN
}
