// Ranges of a text that are replaced. They may overlap and come in any order.

export interface TextRange {
  readonly from: number
  readonly to: number
}

/** Replaces the ranges; those that overlap or touch, once. */
export function withoutRanges(text: string, ranges: readonly TextRange[], replacement: string): string {
  let result = ''
  let at = 0
  let isBegun = false
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    if (!isBegun || from > at) result += text.slice(at, from) + replacement
    at = Math.max(at, to)
    isBegun = true
  }
  return result + text.slice(at)
}
