// Parses the numbers of test reports. No specification covers them, and test frameworks write them in any locale.

/** Seconds, such as `0.103`, `0,103`, `1,234.5`, `1.234,5` or `1e-05`. Undefined for anything else, also for negative numbers and NaN. */
export function readSeconds(text: string | undefined): number | undefined {
  const trimmed = text?.trim()
  if (trimmed === undefined || trimmed === '' || trimmed.length > 40) return undefined
  const plain = withPoint(trimmed.replace(/[\s'\u00a0]/g, ''))
  if (!/^\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(plain)) return undefined
  return Number(plain)
}

/** If both separators occur, the last one is the decimal separator. A single comma is a decimal separator, too, because times have three decimals. */
function withPoint(text: string): string {
  const comma = text.lastIndexOf(',')
  const point = text.lastIndexOf('.')
  if (comma < 0) return text
  if (point > comma) return text.replaceAll(',', '')
  if (point >= 0) return text.replaceAll('.', '').replace(',', '.')
  return text.indexOf(',') === comma ? text.replace(',', '.') : text.replaceAll(',', '')
}

/** A whole number from 1 on, such as the number of a line. */
export function readOrdinal(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined
  const ordinal = Number(text)
  return ordinal > 0 ? ordinal : undefined
}
