// Scans JSON that arrives in windows, and reports to a sink where objects, lists, keys, strings, numbers and literals begin and end. The scanner keeps one
// bit for each level and the number or literal at a window's end, so that it needs next to no memory for a text of any size or depth.
import { ReportFault } from './report-fault.ts'

/** Positions count the UTF-16 units of all windows. */
export interface JsonSink {
  /** False: nothing within it is reported, only its end. */
  open(isList: boolean, from: number): boolean
  close(end: number): void
  /** The characters of a key or string in this window, as they are written. */
  part?(window: string, from: number, to: number): void
  /** A key or string value, with its quotes. */
  string(isKey: boolean, from: number, end: number): void
  /** A number or literal. */
  word(text: string, from: number): void
  comma?(at: number): void
}

export interface JsonScan {
  /** Throws a ReportFault if the text is not JSON, and passes on errors of the sink. */
  write(window: string): void
  /** Throws a ReportFault if the text ends too early. */
  end(): void
}

export interface JsonScanOptions {
  /** Objects and lists within each other. */
  readonly maxDepth: number
  /** Accepts documents after each other, and wrong commas, colons, escapes and control characters, which writers of reports are careless with. */
  readonly isLenient?: boolean | undefined
}

/** Maximum length of a number or literal. */
const maxWord = 1_000
const wordForm = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const hexDigits = 4

/** Accepts what `JSON.parse` accepts, but for numbers of more than 1,000 characters. */
export function createJsonScan(sink: JsonSink, { maxDepth, isLenient = false }: JsonScanOptions): JsonScan {
  const lists = new Uint8Array((maxDepth >> 3) + 1)
  let depth = 0
  let isInList = false
  const noLevel = maxDepth + 1
  /** The level of the object or list of which nothing is reported. */
  let silentFrom = noLevel
  /** Whether an object or list was found. */
  let isBegun = false
  /** `first` and `firstKey`: or the end of the list or object. `more`: a comma or the end. */
  let next: 'value' | 'first' | 'key' | 'firstKey' | 'colon' | 'more' = 'value'
  /** Where the window begins. */
  let base = 0
  /** The number or literal at the end of the last window, which may continue in the next one. */
  let word = ''
  let isInString = false
  let isKey = false
  let from = 0
  /** Within an escape: the hexadecimal digits that must follow, or that its kind must follow. */
  let escape: number | 'kind' = 0

  function expect(isFine: boolean): void {
    if (!isFine && (!isLenient || depth === 0)) throw notJson()
  }

  function expectValue(): void {
    expect(next === 'value' || next === 'first')
  }

  function notJson(): ReportFault {
    return new ReportFault(isBegun ? 'malformed' : 'not_json', 'The report is not JSON.')
  }

  function endValue(): void {
    next = isLenient && depth === 0 ? 'value' : 'more'
  }

  function open(isList: boolean, at: number): void {
    expectValue()
    if (depth >= maxDepth) {
      throw new ReportFault('too_deep', `The report has more than ${maxDepth} nested objects and lists.`)
    }
    const bit = 1 << (depth & 7)
    const byte = lists[depth >> 3] ?? 0
    lists[depth >> 3] = isList ? byte | bit : byte & ~bit
    isBegun = true
    if (depth < silentFrom && !sink.open(isList, at)) silentFrom = depth + 1
    depth += 1
    isInList = isList
    next = isList ? 'first' : 'firstKey'
  }

  function close(isList: boolean, end: number): void {
    if (depth === 0 || isInList !== isList) throw notJson()
    expect(next === 'more' || next === (isList ? 'first' : 'firstKey'))
    depth -= 1
    const around = depth - 1
    isInList = depth > 0 && (((lists[around >> 3] ?? 0) >> (around & 7)) & 1) === 1
    endValue()
    if (depth + 1 === silentFrom) silentFrom = noLevel
    if (depth < silentFrom) sink.close(end)
  }

  /** Reads on within a string. Answers where it ends in the window. */
  function readString(window: string, begin: number): number {
    for (let at = begin; at < window.length; at += 1) {
      const code = window.charCodeAt(at)
      if (escape !== 0) readEscape(window.charAt(at))
      else if (code > 0x5c) continue
      else if (code === 0x22) {
        isInString = false
        if (isKey) next = 'colon'
        else endValue()
        if (depth < silentFrom) {
          sink.part?.(window, begin, at)
          sink.string(isKey, from, base + at + 1)
        }
        return at + 1
      } else if (code === 0x5c) escape = 'kind'
      else if (code < 0x20) expect(false)
    }
    if (depth < silentFrom) sink.part?.(window, begin, window.length)
    return window.length
  }

  function readEscape(character: string): void {
    if (escape === 'kind') {
      expect('"\\/bfnrtu'.includes(character))
      escape = character === 'u' && !isLenient ? hexDigits : 0
    } else {
      expect(/[\da-fA-F]/.test(character))
      escape -= 1
    }
  }

  function endWord(window: string, begin: number, end: number): void {
    wordForm.lastIndex = begin
    if (!wordForm.test(window) || wordForm.lastIndex !== end) throw notJson()
    endValue()
    if (depth < silentFrom) sink.word(window.slice(begin, end), base + begin)
  }

  /** Reads a token that begins here. Answers where it ends in the window. */
  function readToken(window: string, at: number): number {
    const code = window.charCodeAt(at)
    switch (code) {
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        break
      case 0x22:
        isKey = next === 'key' || next === 'firstKey'
        if (!isKey) expectValue()
        isInString = true
        from = base + at
        return readString(window, at + 1)
      case 0x7b:
      case 0x5b:
        open(code === 0x5b, base + at)
        break
      case 0x7d:
      case 0x5d:
        close(code === 0x5d, base + at + 1)
        break
      case 0x2c:
        expect(next === 'more' && depth > 0)
        next = isInList ? 'value' : 'key'
        if (depth < silentFrom) sink.comma?.(base + at)
        break
      case 0x3a:
        expect(next === 'colon')
        next = 'value'
        break
      default:
        return readWord(window, at)
    }
    return at + 1
  }

  function readWord(window: string, begin: number): number {
    expectValue()
    let at = begin
    for (; at < window.length; at += 1) {
      const code = window.charCodeAt(at)
      if (code <= 0x20 || code === 0x2c || code === 0x5d || code === 0x7d) break
    }
    if (at - begin > maxWord) throw notJson()
    if (at < window.length) endWord(window, begin, at)
    else word = window.slice(begin)
    return at
  }

  return {
    write: fresh => {
      const window = word + fresh
      base -= word.length
      word = ''
      let at = isInString ? readString(window, 0) : 0
      while (at < window.length) at = readToken(window, at)
      base += window.length
    },
    end: () => {
      if (word !== '') endWord(word, 0, word.length)
      if (depth > 0 || isInString) throw new ReportFault('truncated', 'The report ends too early.')
      if (!isBegun && next === 'value') throw notJson()
    },
  }
}

/** Maximum length of an escape: `\u0041`. */
const maxEscape = 6

/** The characters of a key or string as they are written, with escapes decoded. If it was cut, its last escape may be incomplete. */
export function decodedText(written: string, isCut = false): string {
  if (!written.includes('\\')) return written
  for (let less = 0; less < (isCut ? maxEscape : 1); less += 1) {
    try {
      return String(JSON.parse(`"${written.slice(0, written.length - less)}"`))
    } catch {
      // The next attempt drops one more character of the end.
    }
  }
  return written
}
