// Redacts text from external sources before it is stored, exported or shown: secrets that are recognised by their form, e-mail addresses, and matches
// of the configured patterns. The platform masks only the exact values of masked variables, so secrets that a tool fetched or encoded arrive
// unmasked. Text is redacted before it is truncated, because half a secret is not recognised. A server's message is also shortened to one line.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { boundedTokens, secretShapes, type SecretShape } from './secret-shapes.ts'
import { namedSecretsIn } from './named-secrets.ts'
import { unfolded, type UnfoldedText } from './unfolded-text.ts'
import { removed, withControlsMarked, withoutRanges, plainLine, type TextRange } from './plain-text.ts'
import { redact } from './secret.ts'
import { RE2JS } from 're2js'

// A regular expression configured by the operator, which is applied to text from external sources. It runs in RE2 (re2js), which never backtracks:
// for any pattern and text, the time is proportional to the length of the text. Therefore RE2 has neither backreferences nor look-around.

/** The maximum number of RE2 instructions in a pattern. Together with the length of the text, it bounds the time of a search. */
const maxSize = 200
/**
 * The maximum number of matches in one string. Beyond it, the rest of the string counts as one match, because each further search may read the string
 * to its end.
 */
const maxMatches = 30

export class LinearPattern {
  readonly source: string
  readonly #engine: RE2JS

  private constructor(source: string, engine: RE2JS) {
    this.source = source
    this.#engine = engine
  }

  /** Parses a pattern in JavaScript's syntax. If the pattern is rejected, the result is a string with the reason. */
  static parse(source: string): LinearPattern | string {
    try {
      if (''.search(new RegExp(source, 'u')) !== -1) return 'can match an empty string'
    } catch {
      return 'is not a valid regular expression'
    }
    try {
      const engine = RE2JS.compile(RE2JS.translateRegExp(source))
      return engine.programSize() > maxSize ? 'is too large' : new LinearPattern(source, engine)
    } catch {
      return 'has a backreference, a look-around or a repetition above 1,000'
    }
  }

  *rangesIn(text: string): Generator<TextRange> {
    const matcher = this.#engine.matcher(text)
    for (let count = 1; count <= maxMatches && matcher.find(); count += 1)
      yield { from: matcher.start(), to: count === maxMatches ? text.length : matcher.end() }
  }
}

export type RedactText = (text: string) => string

export const redacted = '[REDACTED]'

/**
 * The maximum length in UTF-16 units of a secret that is recognised at the end of truncated text. Code that truncates text before it is redacted must
 * keep this many additional units.
 */
export const maxSecret = 2_048

/**
 * Redacts a string, then truncates it to `limit`. If the whole string is longer than `limit + maxSecret` characters, the caller may pass only that
 * many.
 */
export function redactedTo(limit: number, text: string, redactText: RedactText): string {
  const needed = limit + maxSecret
  const clean = redactText(text.slice(0, needed))
  if (text.length < needed) return clean.slice(0, limit).toWellFormed()
  // The string may end in half a secret, because it was truncated to `needed`. Redaction may also have shortened the text before that end, so the
  // last `maxSecret` characters are dropped. The beginning up to the first secret is kept, because half a secret cannot begin within `limit`.
  const first = clean.indexOf(redacted)
  const safe = first >= 0 && text.startsWith(clean.slice(0, first)) ? first + redacted.length : 0
  return clean
    .slice(0, Math.max(safe, clean.length - maxSecret))
    .slice(0, limit)
    .toWellFormed()
}

/** Redacts a value together with its key. In `db.password=kettle`, only the key indicates that the value is a secret. */
export function redactedValue(key: string, value: string, redactText: RedactText): string {
  const before = `${key}=`
  const clean = redactText(before + value)
  return clean.startsWith(before) ? clean.slice(before.length) : redacted
}

/**
 * The maximum number of characters that are redacted in one turn of the event loop. Each string counts as `charactersPerText` additional characters.
 */
const charactersAtOnce = 16 * 1024
const charactersPerText = 256

/**
 * Returns a function that must be called before each of many strings is redacted. Once enough characters were redacted in one turn of the event loop,
 * the function waits for the next turn.
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

/** Like `redactText`, but for many strings: other work can run between two of them. */
export function inTurns(redactText: RedactText): (text: string) => Promise<string> {
  const turn = redactionTurns()
  return async text => {
    await turn(text)
    return redactText(text)
  }
}

/**
 * Creates the function that redacts text. `more` contains the configured patterns. Control sequences are removed as well, because a colour code could
 * hide a secret, and no reader needs them.
 */
export function createTextRedaction(more: readonly LinearPattern[]): RedactText {
  return given => {
    const text = withControlsMarked(given)
    const found = secretsIn(text, more)
    const view = unfolded(text)
    if (view !== undefined) {
      const at = (index: number): number => view.offsets[index] ?? index
      const seen = [...secretsIn(view.text, more), ...tokensBesideFolds(view)]
      found.push(...seen.map(({ from, to }) => ({ from: at(from), to: at(to) })))
    }
    return withoutRanges(text, found, redacted).replaceAll(removed, '')
  }
}

/**
 * Finds tokens next to removed control sequences. Some tokens are recognised only after a boundary, but once a colour code is removed, such a token
 * may directly follow a letter. No character is read for two tokens, so the time is linear.
 */
function* tokensBesideFolds({ text, offsets }: UnfoldedText): Generator<TextRange> {
  for (let from = 1; from < text.length; from += 1) {
    if (offsets[from] === (offsets[from - 1] ?? 0) + 1) continue
    boundedTokens.lastIndex = from
    if (!boundedTokens.test(text)) continue
    const to = boundedTokens.lastIndex
    yield { from, to }
    from = to
  }
}

function secretsIn(text: string, more: readonly LinearPattern[]): TextRange[] {
  const found: TextRange[] = []
  for (const shape of secretShapes) findShape(text, shape, 0, found)
  found.push(...namedSecretsIn(text))
  for (const pattern of more) found.push(...pattern.rangesIn(text))
  return found
}

/**
 * Finds the matches of one pattern. `begin` is an offset that is added to each position. The code uses no iterator, because an iterator copies each
 * pattern, and most strings are short and contain no secret.
 */
function findShape(
  text: string,
  { pattern, needs, within, isSecret }: SecretShape,
  begin: number,
  found: TextRange[],
): void {
  if (needs !== undefined && !text.includes(needs)) return
  const search = within ?? pattern
  search.lastIndex = 0
  for (let match = search.exec(text); match !== null; match = search.exec(text)) {
    const { 0: whole, 1: before = '', index } = match
    const from = begin + index
    if (within !== undefined) findShape(whole, { pattern, isSecret }, from, found)
    else if (isSecret?.(whole.slice(before.length).replaceAll(removed, '')) !== false)
      found.push({ from: from + before.length, to: from + whole.length })
  }
}

/** Matches the first line of a PEM block. A line within the block cannot be recognised without the lines around it. */
const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)[A-Z ]{0,10}-----/
const keyEnds = /-----END [A-Z0-9 ]{0,40}-----/
/** The number of lines after which a PEM block without an end line is considered finished. */
const maxKeyLines = 400

/** Returns a function that must be called with each line in order. It returns true within a PEM block. */
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

/** The maximum number of characters that are read from a string, and the maximum number of these characters that are searched in all encodings. */
const [maxScanned, maxDecoded] = [65_536, 2_048]

const redactText = createTextRedaction([])

/** Returns at most `maxLength` characters of external text as one redacted line; undefined if nothing is left. */
export function briefly(text: string, maxLength: number, also: readonly string[] = []): string | undefined {
  const line = text.slice(0, maxScanned).replace(/\s+/g, ' ')
  const clean = plainLine(redactText(redact(line, also, maxDecoded)))
  if (clean === '') return undefined
  return clean.length > maxLength ? `${clean.slice(0, maxLength)}…` : clean
}
