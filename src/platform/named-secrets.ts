// Values that a name gives away: `DB_PASSWORD=…`, `"apiKey": "…"`, `?token=…`, `--secret …`, `<password>…</password>`, and name and value in a list of
// variables. The names are searched for, and only what is around one is read, so a text is read once, whatever is in it.
import { isShown } from './secret-shapes.ts'

const names =
  /passw(?:or)?d|passphrase|secret|token|(?:api|access|account|private|auth|signing|encryption)[_-]?key|credential/gi
const nameCharacter = /[\w.-]/
/** How far the beginning of a name may be from what is searched for. */
const maxPrefix = 60

const restOfName = /[\w.-]*/y
const equals = /(?:\\?["'])?\s{0,3}[:=]\s{0,3}/y
/** The name of a header, in `api-key = x-api-key: …`, and the scheme of an authorization. */
const header = /(?:\\?["'])?(?:\w{1,40}-[\w-]{1,40}|\w{0,40}(?:token|key|password|secret)):\s{1,3}(?=\S{6})/iy
const scheme = /(?:\\?["'])?(?:basic|bearer|token)\s{1,3}(?=\S{6})/iy
/** In quotes, also of JSON within JSON, or a word. */
const value = /\\"[^"\n]+\\"|"[^"\n]{4,}"|'[^'\n]{4,}'|(?:\\?["'])?[^\s"',;)}\\]{6,}/y
const valueInQuotes = /\\"[^"\n]+\\"|"[^"\n]+"|'[^'\n]+'/y
const parameter = /[^\s"'&#]{6,}/y
const valueOfList = /\\?["']\s{0,3},?\s{0,3}(?:\\?["'])?value(?:\\?["'])?\s{0,3}[:=]\s{0,3}/iy
const endOfTag = /(?:\s[^<>]{0,200})?>(?:<!\[CDATA\[)?/y
const content = /[^<\]]{3,}/y
/** Options that name where a secret is, such as `--password-stdin`. */
const elsewhere = /-(?:stdin|file|path|env|type|url|name)$/i
const blank = /\s{1,3}(?:\\?["'])?/y
const argument = /[^\s"'/.-][^\s"']{5,}/y

/** `replacement`: for each value; its quotes are kept. */
export function withoutNamedSecrets(text: string, replacement: string): string {
  let result = ''
  let at = 0
  names.lastIndex = 0
  for (let found = names.exec(text); found !== null; found = names.exec(text)) {
    const nameEnd = endOf(restOfName, text, names.lastIndex) ?? names.lastIndex
    const place = placeOf(text, beginOf(text, found.index, at), nameEnd)
    names.lastIndex = nameEnd
    if (place === undefined) continue
    const { from, to } = withoutQuotes(text, place)
    result += text.slice(at, from) + replacement
    at = to
    names.lastIndex = to
  }
  return result + text.slice(at)
}

interface Place {
  readonly from: number
  readonly to: number
}

/** Where the name begins, not before `least`. */
function beginOf(text: string, index: number, least: number): number {
  let begin = index
  while (begin > Math.max(least, index - maxPrefix) && nameCharacter.test(text.charAt(begin - 1))) begin -= 1
  return begin
}

/** Where the value of the name between `begin` and `end` is; undefined: it has none. */
function placeOf(text: string, begin: number, end: number): Place | undefined {
  const before = text.charAt(begin - 1)
  const from = endOf(equals, text, end)
  if (from !== undefined)
    return '?&'.includes(before) && before !== '' ? place(parameter, text, from) : assigned(text, from)
  const listed = endOf(valueOfList, text, end)
  if (listed !== undefined) return place(valueInQuotes, text, listed)
  const tag = before === '<' || before === ':' ? endOf(endOfTag, text, end) : undefined
  if (tag !== undefined) return text.slice(tag, tag + 200).trim() === '' ? undefined : place(content, text, tag)
  const isOption =
    text.charAt(begin) === '-' && (before === '' || /\s/.test(before)) && !elsewhere.test(text.slice(end - 6, end))
  const next = isOption ? endOf(blank, text, end) : undefined
  return next === undefined ? undefined : place(argument, text, next)
}

function assigned(text: string, from: number): Place | undefined {
  const afterHeader = endOf(header, text, from) ?? from
  const begin = endOf(scheme, text, afterHeader) ?? afterHeader
  return place(value, text, begin)
}

/** Undefined also for a value that is hidden already, which is not read to its end: others may begin within it. */
function place(pattern: RegExp, text: string, from: number): Place | undefined {
  if (!isShown(text.slice(from, from + 16))) return undefined
  const to = endOf(pattern, text, from)
  return to === undefined ? undefined : { from, to }
}

/** Where a match that begins at `from` ends. */
function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : undefined
}

function withoutQuotes(text: string, { from, to }: Place): Place {
  const [, quote = ''] = /^(\\?["'])/.exec(text.slice(from, from + 2)) ?? []
  const isClosed = quote !== '' && to - from > 2 * quote.length && text.endsWith(quote, to)
  return { from: from + quote.length, to: isClosed ? to - quote.length : to }
}
