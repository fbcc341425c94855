// Defines a question of the benchmark suite: the measured value, the rival that is measured in the same run, and the ratio that is required.
import { median as medianOf } from '../src/lib/quantile.ts'
import { watchOthers } from './quiet.ts'

export interface Question {
  /** The name of the question, for the option `--only`. */
  readonly id: string
  readonly name: string
  /** The limit or the rival with which the measured value is compared. */
  readonly against: string
  readonly asked: { readonly atLeast: number; readonly aim?: number } | { readonly atMost: number }
  readonly unit: string
  readonly times: { readonly full: number; readonly quick: number }
  /**
   * Describes how the value is measured, in as much detail as readers need to interpret the figures. For the quick suite it also states what is
   * reduced.
   */
  readonly terms: (quick: boolean) => string
  /**
   * Yields rounds until there are enough. In each round, both sides of the ratio are measured in quick succession. Processes that the rounds share
   * are stopped after the last round.
   */
  readonly rounds: (quick: boolean) => AsyncGenerator<Round, void, void>
}

/** One round: our figure and the rival's, in the same unit. */
export interface Round {
  readonly ours: number
  readonly rival: number
  /** Further observations in this round, for human readers. */
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
  /** The median of our figures. `rival`: the median of the rival's figures. */
  readonly ours: number
  readonly rival: number
  /** Median of the ratios of all rounds: our figure divided by the rival's. */
  readonly ratio: number
  /** The lowest and the highest ratio of all rounds. */
  readonly spread: readonly [number, number]
  readonly rounds: number
  readonly met: boolean
  /** Further observations in the last round, for human readers. */
  readonly seen?: string
}

export interface Failed extends Asked {
  /** The error that prevented the measurement. */
  readonly failed: string
}

export type Answer = Measured | Failed

/**
 * Maximum share of processor time that work outside the measurement may use, including the kernel's own. Above this share, the answer to the
 * benchmark question contains a warning.
 */
const quiet = 0.1

/** Answers a question of the benchmark suite by measuring. Never rejects: if a question cannot be answered, the answer contains the error. */
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
    const noise =
      share > quiet ? [`other processes used ${(share * 100).toFixed(0)} % of the processors: measure again`] : []
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

/** Measures the rival before and after each of our measurements. Our measurement is compared with the mean of the rival's two. */
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

/** The median of the values; NaN if there are none. */
export function median(values: readonly number[]): number {
  return medianOf(values) ?? Number.NaN
}
