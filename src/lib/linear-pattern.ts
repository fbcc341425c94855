// An operator's regular expression, which is applied to foreign texts. It runs in RE2 (re2js), which never backtracks: the time is proportional to
// the text's length for any pattern and text. Therefore RE2 has neither backreferences nor look-around.
import { RE2JS } from 're2js'
import type { TextRange } from './plain-text.ts'

/** Instructions of RE2: together with the length of a text, they bound how long it takes. */
const maxSize = 200
/** After so many matches in one text, the rest of the text counts as one: to search for the next may mean reading it to its end each time. */
const maxMatches = 30

export class LinearPattern {
  readonly source: string
  readonly #engine: RE2JS

  private constructor(source: string, engine: RE2JS) {
    this.source = source
    this.#engine = engine
  }

  /** `source`: in JavaScript's syntax. A text says why it is refused. */
  static parse(source: string): LinearPattern | string {
    try {
      if (''.search(new RegExp(source, 'u')) !== -1) return 'can match an empty text'
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
