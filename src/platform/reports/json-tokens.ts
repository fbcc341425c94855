// A streaming tokenizer for JSON: where objects and lists begin and end, keys, strings, numbers and literals. Other parsers hold the whole text, and
// each string, which may have megabytes. Syntax beyond brackets and quotes is not checked.
import { ReportFault } from './report-fault.ts'

export interface JsonSink {
  open(kind: 'object' | 'list'): void
  close(): void
  /** Cut if it is very long. */
  key(text: string): void
  /** A string value, cut if it is very long. */
  text(text: string): void
  /** A number or a literal, as it is written. */
  word(text: string): void
}

export interface JsonTokens {
  /** Throws a ReportFault if the report must not be read further, and what the sink throws. */
  write(text: string): void
  /** Throws a ReportFault if the text ends too early. */
  end(): void
}

/** Characters of a key or string that are kept, before its escapes are decoded: no reader takes more, even if each is an escape of six. */
const maxText = 512 * 1024
/** Characters of an escape: `\u0041`. */
const maxEscape = 6
/** Characters of a number or a literal. */
const maxWord = 1_000
const stop = /["\\]/g
const closers = { object: '}', list: ']' } as const

export function createJsonTokens(sink: JsonSink, maxDepth: number): JsonTokens {
  const open: ('object' | 'list')[] = []
  let sawAny = false
  let isInText = false
  let isEscape = false
  /** The backslash at the end of the text before is kept, so what it escapes is kept too. */
  let isHalfKept = false
  let isKeyNext = false
  let held = ''
  /** A number or literal at the end of the text, which may go on in the next one. */
  let word = ''

  /** Reads on within a string; answers where it ends. */
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
    const said = plain(held).slice(0, maxText).toWellFormed()
    isInText = false
    held = ''
    if (isKeyNext && open.at(-1) === 'object') sink.key(said)
    else sink.text(said)
  }

  function begin(kind: 'object' | 'list'): void {
    if (open.length >= maxDepth) {
      throw new ReportFault('too_deep', `The report has more than ${maxDepth} objects and lists within each other.`)
    }
    sawAny = true
    open.push(kind)
    isKeyNext = kind === 'object'
    sink.open(kind)
  }

  function finish(closer: string): void {
    const kind = open.pop()
    if (kind === undefined || closers[kind] !== closer) throw new ReportFault('malformed', 'The report is no JSON.')
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
          throw new ReportFault(sawAny ? 'malformed' : 'not_json', 'The report is no JSON.')
        }
        if (found === '"') {
          isInText = true
          at = readText(text, at)
        } else if (found === '{') begin('object')
        else if (found === '[') begin('list')
        else if (found === '}' || found === ']') finish(found)
        else if (found === ',') isKeyNext = open.at(-1) === 'object'
        else if (found === ':') isKeyNext = false
        else if (found.length > maxWord) throw new ReportFault('malformed', 'The report is no JSON.')
        else if (at === text.length) word = found
        else sink.word(found)
      }
    },
    end: () => {
      if (open.length > 0) throw new ReportFault('truncated', 'The report ends too early.')
      if (!sawAny) throw new ReportFault('not_json', 'The report is no JSON.')
    },
  }
}

/** Decodes escapes. Where a text was cut, the last one may be incomplete. */
function plain(held: string): string {
  if (!held.includes('\\')) return held
  const beginnings = held.length < maxText ? 1 : maxEscape
  for (let less = 0; less < beginnings; less += 1) {
    try {
      return String(JSON.parse(`"${held.slice(0, held.length - less)}"`))
    } catch {
      // Tried with less of its end.
    }
  }
  return held
}
