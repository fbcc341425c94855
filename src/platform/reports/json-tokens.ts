// Tokenizes JSON as a stream: beginnings and ends of objects and lists, keys, strings, numbers and literals. Other parsers keep the whole text or whole
// strings in memory, and a string may have megabytes. The tokenizer checks only brackets and quotes, no other syntax.
import { ReportFault } from './report-fault.ts'

export interface JsonSink {
  open(kind: 'object' | 'list'): void
  close(): void
  /** A key, cut if it is very long. */
  key(text: string): void
  /** A string value, cut if it is very long. */
  text(text: string): void
  /** A number or a literal, as the text has it. */
  word(text: string): void
}

export interface JsonTokens {
  /** Throws a ReportFault if the report must not be read further, and passes on errors of the sink. */
  write(text: string): void
  /** Throws a ReportFault if the text ends too early. */
  end(): void
}

/** Maximum number of characters that are kept of a key or string before its escapes are decoded. No caller needs more, even if all are escapes of six characters. */
const maxText = 512 * 1024
/** Maximum length of an escape: `\u0041`. */
const maxEscape = 6
/** Maximum length of a number or a literal. */
const maxWord = 1_000
const stop = /["\\]/g
const closers = { object: '}', list: ']' } as const

export function createJsonTokens(sink: JsonSink, maxDepth: number): JsonTokens {
  const open: ('object' | 'list')[] = []
  let sawAny = false
  let isInText = false
  let isEscape = false
  /** True if the last text ended with a backslash that is kept, so that the character it escapes must be kept, too. */
  let isHalfKept = false
  let isKeyNext = false
  let held = ''
  /** A number or literal at the end of the last text, which may continue in the next one. */
  let word = ''

  /** Continues within a string. Answers the index after its end. */
  function readText(text: string, from: number): number {
    let at = from
    if (isEscape) {
      if (isHalfKept) held += text[at] ?? ''
      isEscape = false
      at += 1
    }
    for (;;) {
      stop.lastIndex = at
      const found = stop.exec(text)
      const until = found?.index ?? text.length
      if (held.length < maxText) held += text.slice(at, until)
      if (found === null) return text.length
      if (found[0] === '"') {
        finishText()
        return until + 1
      }
      const isKept = held.length < maxText
      if (isKept) held += text.slice(until, until + 2)
      isEscape = until + 1 >= text.length
      isHalfKept = isKept && isEscape
      at = until + 2
      if (isEscape) return text.length
    }
  }

  function finishText(): void {
    const decoded = plain(held).slice(0, maxText).toWellFormed()
    isInText = false
    held = ''
    if (isKeyNext && open.at(-1) === 'object') sink.key(decoded)
    else sink.text(decoded)
  }

  function begin(kind: 'object' | 'list'): void {
    if (open.length >= maxDepth) {
      throw new ReportFault('too_deep', `The report has more than ${maxDepth} nested objects and lists.`)
    }
    sawAny = true
    open.push(kind)
    isKeyNext = kind === 'object'
    sink.open(kind)
  }

  function finish(closer: string): void {
    const kind = open.pop()
    if (kind === undefined || closers[kind] !== closer) throw new ReportFault('malformed', 'The report is not JSON.')
    sink.close()
    isKeyNext = false
  }

  return {
    write: fresh => {
      const structure = /["{}[\],:]|[^\s"{}[\],:]+/g
      const text = word + fresh
      word = ''
      let at = isInText ? readText(text, 0) : 0
      while (at < text.length) {
        structure.lastIndex = at
        const [found] = structure.exec(text) ?? []
        if (found === undefined) return
        at = structure.lastIndex
        if (open.length === 0 && found !== '{' && found !== '[') {
          throw new ReportFault(sawAny ? 'malformed' : 'not_json', 'The report is not JSON.')
        }
        if (found === '"') {
          isInText = true
          at = readText(text, at)
        } else if (found === '{') begin('object')
        else if (found === '[') begin('list')
        else if (found === '}' || found === ']') finish(found)
        else if (found === ',') isKeyNext = open.at(-1) === 'object'
        else if (found === ':') isKeyNext = false
        else if (found.length > maxWord) throw new ReportFault('malformed', 'The report is not JSON.')
        else if (at === text.length) word = found
        else sink.word(found)
      }
    },
    end: () => {
      if (open.length > 0) throw new ReportFault('truncated', 'The report ends too early.')
      if (!sawAny) throw new ReportFault('not_json', 'The report is not JSON.')
    },
  }
}

/** Decodes escapes. If the text was cut, its last escape may be incomplete. */
function plain(held: string): string {
  if (!held.includes('\\')) return held
  const beginnings = held.length < maxText ? 1 : maxEscape
  for (let less = 0; less < beginnings; less += 1) {
    try {
      return String(JSON.parse(`"${held.slice(0, held.length - less)}"`))
    } catch {
      // The next attempt drops one more character of the end.
    }
  }
  return held
}
