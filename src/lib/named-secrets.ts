// Redacts values that follow a name that suggests a secret: `DB_PASSWORD=…`, `"apiKey": "…"`, `?token=…`, `--secret …`, `<password>…</password>`, and
// the value next to such a name in a list of variables. The code searches for names and examines only the text around each name, so its running time
// is linear in the length of the text.
import { removed, type TextRange } from './plain-text.ts'
import { isShown } from './secret-shapes.ts'

/**
 * The names that suggest a secret. `pass`, `pwd` and similar names count only at the end of a longer name, or as a key: `DB_PASS=`, `"pass": "…"`,
 * but not `PASS: test 1` or `PWD=/builds`.
 */
const names =
  /passw(?:or)?d|passphrase|secret|token|(?:api|access|account|private|auth|signing|encryption)[_-]?key|credential|rediscli_auth|(?<=[_.?&;"'-])(?:pass|pwd|pw|creds?)(?:_?\d{1,2})?(?![\w.-])|(?<!\w)pass(?==\S)/gi
const nameCharacter = /[\w.-]/
/** The maximum number of characters that a name may have before the part that `names` matches. */
const maxPrefix = 60

const restOfName = /[\w.-]*/y
const equals = /(?:\\?["'])?\s{0,3}[:=]\s{0,3}/y
/** Matches the name of a header before its value (`api-key = x-api-key: …`), and the scheme of an authorization header. */
const header = /(?:\\?["'])?(?:\w{1,40}-[\w-]{1,40}|\w{0,40}(?:token|key|password|secret)):\s{1,3}(?=\S{6})/iy
const scheme = /(?:\\?["'])?(?:basic|bearer|token|digest|negotiate|api-?key|key)\s{1,3}(?=\S{6})/iy
/** Matches a value in quotes (also in the escaped quotes of JSON within JSON), or a single word. */
const value = /\\"[^"\n]+\\"|"[^"\n]{4,}"|'[^'\n]{4,}'|(?:\\?["'])?[^\s"',;)}\\]{6,}/y
const valueInQuotes = /\\"[^"\n]+\\"|"[^"\n]+"|'[^'\n]+'/y
const parameter = /[^\s"'&#]{6,}/y
const valueOfList = /\\?["']\s{0,3},?\s{0,3}(?:\\?["'])?value(?:\\?["'])?\s{0,3}[:=]\s{0,3}/iy
const endOfTag = /(?:\s[^<>]{0,200})?>(?:<!\[CDATA\[)?/y
const content = /[^<\]]{3,}/y
/** Matches options whose value is the location of a secret and not the secret itself, such as `--password-stdin`. */
const elsewhere = /-(?:stdin|file|path|env|type|url|name)$/i
const blank = /\s{1,3}(?:\\?["'])?/y
const argument = /[^\s"'/.-][^\s"']{5,}/y

/** Yields the ranges of the secret values in a string, without their quotes. */
export function* namedSecretsIn(text: string): Generator<TextRange> {
  let at = 0
  // Each search uses its own copy of the pattern, because another search may start before this one has ended.
  const search = new RegExp(names)
  for (let found = search.exec(text); found !== null; found = search.exec(text)) {
    const nameEnd = endOf(restOfName, text, search.lastIndex) ?? search.lastIndex
    const place = placeOf(text, beginOf(text, found.index, at), nameEnd)
    search.lastIndex = nameEnd
    if (place === undefined) continue
    const range = withoutQuotes(text, place)
    yield range
    at = range.to
    search.lastIndex = at
  }
}

/** Returns the index at which the name begins, but at least `min`. */
function beginOf(text: string, index: number, min: number): number {
  let begin = index
  while (begin > Math.max(min, index - maxPrefix) && nameCharacter.test(text.charAt(begin - 1))) begin -= 1
  return begin
}

/** Returns the range of the value that belongs to the name between `begin` and `end`, or undefined if there is no value. */
function placeOf(text: string, begin: number, end: number): TextRange | undefined {
  const before = text.charAt(begin - 1)
  const from = endOf(equals, text, end)
  if (from !== undefined)
    return '?&'.includes(before) && before !== '' ? place(parameter, text, from) : assigned(text, from)
  const listed = endOf(valueOfList, text, end)
  if (listed !== undefined) return place(valueInQuotes, text, listed)
  const tag = before === '<' || before === ':' ? endOf(endOfTag, text, end) : undefined
  if (tag !== undefined) return text.slice(tag, tag + 200).trim() === '' ? undefined : place(content, text, tag)
  const isOption = text.charAt(begin) === '-' && (before === '' || /\s/.test(before))
  // Recognises `ENV NAME value` in a Dockerfile.
  const isVariable = text.slice(Math.max(0, begin - 4), begin) === 'ENV '
  const isValueNext = (isOption || isVariable) && !elsewhere.test(text.slice(end - 6, end))
  const next = isValueNext ? endOf(blank, text, end) : undefined
  return next === undefined ? undefined : place(argument, text, next)
}

function assigned(text: string, from: number): TextRange | undefined {
  const afterHeader = endOf(header, text, from) ?? from
  const begin = endOf(scheme, text, afterHeader) ?? afterHeader
  return place(value, text, begin)
}

/**
 * Returns the range of a value; undefined if there is no value, or if it is already redacted. The search does not skip a redacted value, because
 * another name may begin within it.
 */
function place(pattern: RegExp, text: string, from: number): TextRange | undefined {
  if (!isShown(text.slice(from, from + 16).replaceAll(removed, ''))) return undefined
  const to = endOf(pattern, text, from)
  return to === undefined ? undefined : { from, to }
}

/** Returns the end index of a match that begins at `from`. */
function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : undefined
}

function withoutQuotes(text: string, { from, to }: TextRange): TextRange {
  const [, quote = ''] = /^(\\?["'])/.exec(text.slice(from, from + 2)) ?? []
  const isClosed = quote !== '' && to - from > 2 * quote.length && text.endsWith(quote, to)
  return { from: from + quote.length, to: isClosed ? to - quote.length : to }
}
