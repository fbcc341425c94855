// Redacts texts of jobs before export: secrets by their form, e-mail addresses, and configured patterns. The platform only masks exact values of
// masked variables, so secrets that a tool fetched or encoded arrive here readable. A text is redacted before it is cut: half a secret has no form.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { secretShapes, type SecretShape } from './secret-shapes.ts'
import { withoutNamedSecrets } from './named-secrets.ts'
import type { LinearPattern } from '../lib/linear-pattern.ts'

/** Redacts one text. */
export type RedactText = (text: string) => string

export const redacted = '[REDACTED]'

/** The longest secret that is recognised where a text is cut, UTF-16 units: whoever cuts a text before it is redacted keeps so many more. */
export const maxSecret = 2_048

/** Redacts a text, then cuts it: half a secret has no form. Of the text itself, `limit + maxSecret` characters are needed. */
export function redactedTo(limit: number, text: string, redactText: RedactText): string {
  const needed = limit + maxSecret
  const clean = redactText(text.slice(0, needed))
  // The end of a text that was cut before may be half a secret, which is nearer to the beginning if others became shorter.
  return (text.length < needed ? clean : clean.slice(0, Math.max(0, clean.length - maxSecret)))
    .slice(0, limit)
    .toWellFormed()
}

/** Redacts a value with its key: in `db.password=kettle` only the key shows that the value is a secret. */
export function redactedValue(key: string, value: string, redactText: RedactText): string {
  const before = `${key}=`
  const clean = redactText(before + value)
  return clean.startsWith(before) ? clean.slice(before.length) : redacted
}

/** Characters that are redacted before other work of this thread gets its turn. Each text counts as some more. */
const charactersAtOnce = 16 * 1024
const charactersPerText = 256

/** Called before each of many texts is redacted, so that the thread does its other work in between. */
export function redactionTurns(): (text: string) => Promise<void> {
  let since = 0
  return async ({ length }) => {
    since += length + charactersPerText
    if (since <= charactersAtOnce) return
    since = length
    await nextTurn()
  }
}

/** Redacts many texts in turns. */
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

/** Lines within a PEM block cannot be recognised by themselves. */
const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)[A-Z ]{0,10}-----/
const keyEnds = /-----END [A-Z0-9 ]{0,40}-----/
/** A block without an end was cut; it counts for so many lines. */
const maxKeyLines = 400

/** Called with each line in order: true within a PEM block. */
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
