// The periods of pages with statistics over time, and which of these periods a page shows initially. The functions in this file are pure.
import type { Millis } from '../../model/instant.ts'

const hour = 3_600_000
export const day = 86_400_000

export const spans = {
  '24h': { step: hour, length: 24 * hour, name: '24 hours' },
  '7d': { step: day, length: 7 * day, name: '7 days' },
  '30d': { step: day, length: 30 * day, name: '30 days' },
  '90d': { step: day, length: 90 * day, name: '90 days' },
  '1y': { step: day, length: 365 * day, name: '365 days' },
} as const satisfies Record<string, { step: typeof hour | typeof day; length: number; name: string }>

export type Span = keyof typeof spans

export const spanNames = Object.keys(spans) as [Span, ...Span[]]

/** Parses the name of a period. Returns undefined for any other value. */
export function spanOf(text: string | null): Span | undefined {
  return text !== null && Object.hasOwn(spans, text) ? (text as Span) : undefined
}

/**
 * Returns the period that a page shows initially: 24 hours or 7 days if that covers all data, otherwise the shortest period of at least 30 days that
 * covers the newest data.
 */
export function openingSpan(extent: { readonly first: Millis; readonly last: Millis } | undefined, now: Millis): Span {
  if (extent === undefined) return '30d'
  const { first, last } = extent
  const reaches = (span: Span, at: Millis): boolean => at > now - spans[span].length
  if (reaches('24h', first)) return '24h'
  if (reaches('7d', first)) return '7d'
  return spanNames.slice(spanNames.indexOf('30d')).find(span => reaches(span, last)) ?? '1y'
}

/** Returns the days a chart covers: whole days including today, and at least a week. */
export function chartDays(
  span: Span,
  now: Millis,
): { readonly since: Millis; readonly until: Millis; readonly step: number } {
  const until = Math.ceil((now + 1) / day) * day
  return { since: until - Math.max(7 * day, spans[span].length), until, step: day }
}
