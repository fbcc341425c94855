// Redacts texts of jobs before export: secrets by their form, e-mail addresses, and configured patterns. The platform only masks exact values of
// masked variables, so secrets that a tool fetched or encoded arrive here readable. A text is redacted before it is cut: half a secret has no form.
import { secretShapes, type SecretShape } from './secret-shapes.ts'
import { withoutNamedSecrets } from './named-secrets.ts'
import type { LinearPattern } from '../lib/linear-pattern.ts'

/** Redacts one text. */
export type RedactText = (text: string) => string

export const redacted = '[REDACTED]'

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
