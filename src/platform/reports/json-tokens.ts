// A streaming tokenizer for JSON that reports only what counting needs: where objects and lists begin and end, keys, and strings, cut short. Other
// parsers hold each string whole, and a scan report may have strings of megabytes. Numbers and literals are ignored, and syntax beyond brackets and
// quotes is not checked.
import { ReportFault } from './report-fault.ts'

export interface JsonSink {
  open(kind: 'object' | 'list'): void
  close(): void
  /** Cut short. */
  key(text: string): void
  /** A string value, cut short. */
  text(text: string): void
}

export interface JsonTokens {
  /** Throws a ReportFault if the report must not be read further, and what the sink throws. */
  write(text: string): void
  /** Throws a ReportFault if the text ends too early. */
  end(): void
}

/** Characters of a key or string that are kept. */
const longest = 256
const stop = /["\\]/g
const byteOrderMark = '\ufeff'
const closers = { object: '}', list: ']' } as const

export function createJsonTokens(sink: JsonSink, mostDepth: number): JsonTokens {
  const open: ('object' | 'list')[] = []
  let sawAny = false
  let isInText = false
  let isEscape = false
  let isKeyNext = false
  let held = ''

  /** Reads on within a string; answers where it ends. */
  function readText(text: string, from: number): number {
    let at = from
    if (isEscape) {
      if (held.endsWith('\\')) held += text[at] ?? ''
      isEscape = false
      at += 1
    }
    for (;;) {
      stop.lastIndex = at
      const found = stop.exec(text)
      const until = found?.index ?? text.length
      if (held.length < longest) held += text.slice(at, Math.min(until, at + longest))
      if (found === null) return text.length
      if (found[0] === '"') {
        finishText()
        return until + 1
      }
      if (held.length < longest) held += text.slice(until, until + 2)
      isEscape = until + 1 >= text.length
      at = until + 2
      if (isEscape) return text.length
    }
  }

  function finishText(): void {
    const said = plain(held)
    isInText = false
    held = ''
    if (isKeyNext && open.at(-1) === 'object') sink.key(said)
    else sink.text(said)
  }

  function begin(kind: 'object' | 'list'): void {
    if (open.length >= mostDepth) {
      throw new ReportFault('too_deep', `The report has more than ${mostDepth} objects and lists within each other.`)
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
    write: text => {
      const structure = /["{}[\],:]|[^\s"{}[\],:]+/g
      let at = isInText ? readText(text, 0) : 0
      while (at < text.length) {
        structure.lastIndex = at
        const [found] = structure.exec(text) ?? []
        if (found === undefined) return
        at = structure.lastIndex
        if (open.length === 0 && found !== '{' && found !== '[' && found !== byteOrderMark) {
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
      }
    },
    end: () => {
      if (open.length > 0) throw new ReportFault('truncated', 'The report ends too early.')
      if (!sawAny) throw new ReportFault('not_json', 'The report is no JSON.')
    },
  }
}

/** Decodes escapes, other than one that is cut off. */
function plain(held: string): string {
  if (!held.includes('\\')) return held.slice(0, longest).toWellFormed()
  try {
    return String(JSON.parse(`"${held.replace(/\\(?:u[0-9a-f]{0,3})?$/i, '')}"`))
      .slice(0, longest)
      .toWellFormed()
  } catch {
    return held.slice(0, longest).toWellFormed()
  }
}
