// Redacts texts of jobs before export: secrets that their form gives away, e-mail addresses, and matches of the configured patterns. The platform
// masks only the exact values of masked variables, so secrets that a tool fetched or encoded arrive here readable. A text is redacted before it is
// cut, because half a secret is not recognised.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { secretShapes, type SecretShape } from './secret-shapes.ts'
import { withoutNamedSecrets } from './named-secrets.ts'
import type { LinearPattern } from '../lib/linear-pattern.ts'

/** Redacts one text. */
export type RedactText = (text: string) => string

export const redacted = '[REDACTED]'

/**
 * Maximum length of a secret that is recognised at a cut, UTF-16 units. Code that cuts a text before it is redacted must keep this many units
 * more.
 */
export const maxSecret = 2_048

/** Redacts a text, then cuts it to `limit`. The caller must pass at least `limit + maxSecret` characters of the text, if it has as many. */
export function redactedTo(limit: number, text: string, redactText: RedactText): string {
  const needed = limit + maxSecret
  const clean = redactText(text.slice(0, needed))
  // The text may end in half a secret because it was cut to `needed`. Redaction shortens the text before it, so the last `maxSecret` characters are
  // dropped.
  return (text.length < needed ? clean : clean.slice(0, Math.max(0, clean.length - maxSecret)))
    .slice(0, limit)
    .toWellFormed()
}

/** Redacts a value together with its key: in `db.password=kettle` only the key shows that the value is a secret. */
export function redactedValue(key: string, value: string, redactText: RedactText): string {
  const before = `${key}=`
  const clean = redactText(before + value)
  return clean.startsWith(before) ? clean.slice(before.length) : redacted
}

/** Number of characters that are redacted in one turn of the event loop. Each text counts as `charactersPerText` more. */
const charactersAtOnce = 16 * 1024
const charactersPerText = 256

/**
 * Makes a function to call before each of many texts is redacted. It waits for the next turn of the event loop when enough was redacted in this
 * one.
 */
export function redactionTurns(): (text: string) => Promise<void> {
  let since = 0
  return async ({ length }) => {
    since += length + charactersPerText
    if (since <= charactersAtOnce) return
    since = length
    await nextTurn()
  }
}

/** Like `redactText`, for many texts: the event loop gets its turns in between. */
export function inTurns(redactText: RedactText): (text: string) => Promise<string> {
  const turn = redactionTurns()
  return async text => {
    await turn(text)
    return redactText(text)
  }
}

/** `more`: the configured patterns. */
export function createTextRedaction(more: readonly LinearPattern[]): RedactText {
  return text => {
    const clean = withoutNamedSecrets(secretShapes.reduce(withoutShape, text), redacted)
    return more.reduce((left, pattern) => pattern.replaceAll(left, redacted), clean)
  }
}

function withoutShape(text: string, { pattern, needs, within, isSecret }: SecretShape): string {
  if (needs !== undefined && !text.includes(needs)) return text
  if (within !== undefined) return text.replace(within, part => withoutShape(part, { pattern, isSecret }))
  return text.replace(pattern, (whole: string, before: unknown) => {
    const kept = typeof before === 'string' ? before : ''
    return isSecret?.(whole.slice(kept.length)) === false ? whole : kept + redacted
  })
}

/** A line within a PEM block cannot be recognised without the lines around it. */
const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)[A-Z ]{0,10}-----/
const keyEnds = /-----END [A-Z0-9 ]{0,40}-----/
/** A PEM block without an end was cut off. It ends after this many lines. */
const maxKeyLines = 400

/** Makes a function to call with each line in order. It answers true within a PEM block. */
export function createKeyWatch(): (text: string) => boolean {
  let left = 0
  return text => {
    const isWithin = left > 0
    if (isWithin) left -= 1
    if (!text.includes('-----')) return isWithin
    const begins = keyBegins.exec(text)
    if (begins !== null && !keyEnds.test(text.slice(begins.index))) {
      left = maxKeyLines
      return true
    }
    if (keyEnds.test(text)) left = 0
    return isWithin
  }
}
