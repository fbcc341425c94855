// Bounds a response for a program that reads all of it: the number of rows in each list, the length of each string, and the total number of
// characters. Pure.

/** The maximum number of characters of a response as JSON. This is about 10,000 model tokens. */
export const maxCharacters = 40_000
/** The maximum number of characters in one string. */
export const maxTextLength = 1_000
/** The maximum number of rows in a list that is nested in a row of another list. */
const maxInnerRows = 5

/** A list from which rows were left out. */
interface LeftOut {
  readonly list: string
  readonly shown: number
  readonly of: number
}

interface Bounds {
  /** The maximum number of rows in each list. */
  readonly limit: number
  /** Whether the first or the last rows are kept when a list is cut. */
  readonly keep: 'first' | 'last'
}

/**
 * Cuts the lists to `limit` rows, then halves their rows until the response has at most `maxCharacters`. `leftOut` names the lists that were cut. A
 * page whose rows were cut has no `next`, because the next page would begin after the rows that are left out. Returns undefined if not even one row
 * fits.
 */
export function bounded(answer: object, { limit, keep }: Bounds): object | undefined {
  for (let rows = limit; rows >= 1; rows = Math.floor(rows / 2)) {
    const { value, leftOut, isPageCut } = shortened(answer, rows, keep)
    const whole = { ...value, ...(isPageCut && { next: undefined }), ...(leftOut.length > 0 && { leftOut }) }
    if (JSON.stringify(whole).length <= maxCharacters) return whole
  }
  return undefined
}

function shortened(
  answer: object,
  rows: number,
  keep: Bounds['keep'],
): { readonly value: object; readonly leftOut: readonly LeftOut[]; readonly isPageCut: boolean } {
  const leftOut = new Map<string, LeftOut>()
  let isPageCut = false
  return { value: object(answer, '', false), leftOut: [...leftOut.values()], isPageCut }

  function object(value: object, place: string, isInRow: boolean): object {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, short(one, place === '' ? key : `${place}.${key}`, isInRow)]),
    )
  }

  /** `isInRow`: whether the value is part of a row of a list. */
  function short(value: unknown, place: string, isInRow: boolean): unknown {
    if (typeof value === 'string') return shortText(value)
    if (typeof value !== 'object' || value === null) return value
    if (!Array.isArray(value)) return object(value, place, isInRow)
    const max = isInRow ? Math.min(rows, maxInnerRows) : rows
    const kept: unknown[] = keep === 'first' ? value.slice(0, max) : value.slice(-max)
    if (kept.length < value.length) {
      isPageCut ||= !isInRow
      // If several rows contain a list with this name, the longest list is reported.
      if (value.length > (leftOut.get(place)?.of ?? 0))
        leftOut.set(place, { list: place, shown: kept.length, of: value.length })
    }
    return kept.map(one => short(one, place, true))
  }
}

function shortText(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength).toWellFormed()}…`
}
