// Parses the figures in a verdict's sentence.

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the duration in each of the phrases, ms. It is negative if the phrase contains “less”. */
export function durationsIn(phrases: string): number[] {
  return phrases.split(', ').flatMap(phrase => {
    const figure = /^((?:[\d.]+ (?:ms|s|m|h|d) ?)+)(less )?/.exec(phrase)
    if (figure === null) return []
    const [, text = '', less] = figure
    const ms = [...text.matchAll(/([\d.]+) (\w+)/g)].reduce(
      (sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0),
      0,
    )
    return [less === undefined ? ms : -ms]
  })
}
