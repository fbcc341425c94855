// A question of the suite: what is measured, against what in the same run, and what ratio is asked for.

export interface Question {
  readonly name: string
  /** The limit or rival. */
  readonly against: string
  readonly asked: { readonly atLeast: number; readonly aim?: number } | { readonly atMost: number }
  /** One round: ours and the rival's figure, in the same unit. */
  round(quick: boolean): Promise<{ readonly ours: number; readonly rival: number }> | { ours: number; rival: number }
  readonly unit: string
  readonly rounds: { readonly full: number; readonly quick: number }
  /** Starts and stops what the rounds share. */
  open?(): Promise<void>
  close?(): Promise<void>
}

export interface Answer {
  readonly name: string
  readonly against: string
  readonly asked: string
  readonly unit: string
  /** Medians. */
  readonly ours: number
  readonly rival: number
  /** Median of the rounds' ratios, ours over the rival's. */
  readonly ratio: number
  /** Lowest and highest round. */
  readonly spread: readonly [number, number]
  readonly met: boolean
}

/** Rounds are interleaved: both sides of each ratio are measured next to each other. */
export async function answer(question: Question, quick: boolean): Promise<Answer> {
  await question.open?.()
  try {
    const rounds: { ours: number; rival: number }[] = []
    const count = quick ? question.rounds.quick : question.rounds.full
    for (let n = 0; n < count; n += 1) rounds.push(await question.round(quick))
    const ratios = rounds.map(({ ours, rival }) => ours / rival)
    const ratio = median(ratios)
    const { asked } = question
    return {
      name: question.name,
      against: question.against,
      asked: 'atLeast' in asked ? `≥ ${asked.atLeast}` : `≤ ${asked.atMost}`,
      unit: question.unit,
      ours: median(rounds.map(({ ours }) => ours)),
      rival: median(rounds.map(({ rival }) => rival)),
      ratio,
      spread: [Math.min(...ratios), Math.max(...ratios)],
      met: 'atLeast' in asked ? ratio >= asked.atLeast : ratio <= asked.atMost,
    }
  } finally {
    await question.close?.()
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
