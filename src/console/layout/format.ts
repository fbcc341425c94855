// Formats times, durations, numbers and sizes for the pages. Times are rendered in UTC. In browsers with scripts enabled, `times.js` converts them to
// the browser's time zone.
import { durationText, type Millis } from '../../model/instant.ts'
import { html, type Content, type Html } from './html.ts'

/** Formats a time in UTC, such as `2026-06-01 12:00:05`. */
export function utc(at: Millis): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}

/** Formats a time: `12:00:05` if it is today, otherwise `2026-05-31 12:00`, with the full time as a tooltip. */
export function time(at: Millis | undefined, now: Millis): Content {
  if (at === undefined) return '–'
  const text = utc(at)
  return timeElement(at, 'near', text.slice(0, 10) === utc(now).slice(0, 10) ? text.slice(11) : text.slice(0, 16))
}

/** Formats a time to the minute, for use in a sentence or a table cell: `2026-05-31 12:00`. */
export function minute(at: Millis): Html {
  return timeElement(at, 'minute', utc(at).slice(0, 16))
}

/** Formats a time to the second, for use in a sentence or a table cell: `2026-05-31 12:00:05`. */
export function second(at: Millis): Html {
  return timeElement(at, 'second', utc(at))
}

/**
 * Returns the attributes that let `times.js` show a time within an SVG in the browser's time zone. `hour` formats as `12:00`, `minute` as `2026-05-31
 * 12:00`.
 */
export function zoned(at: Millis, form: 'hour' | 'minute'): Html {
  return html` data-at="${new Date(at).toISOString()}" data-form="${form}"`
}

function timeElement(at: Millis, form: 'near' | 'clock' | 'minute' | 'second', shown: string): Html {
  return html`<time datetime="${new Date(at).toISOString()}" data-form="${form}" title="${utc(at)} UTC">${shown}</time>`
}

/** Formats a time of day, such as `12:00:05`, with the full time as a tooltip. Used for lists of events that are close together. */
export function clock(at: Millis | undefined): Content {
  if (at === undefined) return '–'
  return timeElement(at, 'clock', utc(at).slice(11))
}

/** Formats a duration: `850 ms`, `4.2 s`, `12 m 05 s`, `3 h 20 m`, `2 d 4 h`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return '–'
  return durationText(ms)
}

/** Formats a rounded duration, used for percentiles: `≈ 4 m 30 s`. */
export function roughly(ms: number | undefined): string {
  return ms === undefined ? '–' : `≈ ${duration(ms)}`
}

/** Formats the time since an event, such as `40 s ago`. It is rounded so that live pages do not change every second. */
export function ago(at: Millis | undefined, now: Millis): string {
  if (at === undefined) return 'never'
  const seconds = Math.max(0, Math.round((now - at) / 1_000))
  if (seconds < 10) return 'just now'
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 48 * 3_600) return `${Math.floor(seconds / 3_600)} h ago`
  return `${Math.floor(seconds / 86_400)} days ago`
}

/** Formats the time since an event, such as `40 s ago`, with the full time as a tooltip. */
export function since(at: Millis | undefined, now: Millis): Html {
  if (at === undefined) return html`never`
  return html`<time datetime="${new Date(at).toISOString()}" title="${utc(at)} UTC">${ago(at, now)}</time>`
}

/** Renders a number, a duration or another value in the form used in tables. `description` is its tooltip. */
export function figure(content: Content, description?: string): Html {
  return html`<span class="figure" ${description !== undefined && html` title="${description}"`}>${content}</span>`
}

/** Renders text from outside the daemon. It may be long, so browsers may break it anywhere. */
export function quoted(text: Content): Html {
  return html`<span class="said">${text}</span>`
}

/** Renders text between backticks as code. */
export function withCode(text: string): Content {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))
}

/** The number formatter. It is created lazily, because its locale data takes 5 MiB of memory. */
let grouped: Intl.NumberFormat | undefined

export function number(count: number): string {
  grouped ??= new Intl.NumberFormat('en')
  return grouped.format(count)
}

/** Formats a count with its noun, such as `1 pipeline` or `2 pipelines`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`
}

export function percent(share: number): string {
  const value = share * 100
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} %`
}

export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export function shortSha(sha: string | undefined): string {
  return sha?.slice(0, 8) ?? ''
}

/** Returns the first line of a commit message. */
export function title(message: string | undefined): string {
  return message?.split('\n', 1)[0]?.trim() ?? ''
}
