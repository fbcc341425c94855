// Kinds of lists: comma-separated in a variable; a list, or the same comma-separated text, in YAML. And lists of known words: some of them, `all`, or `none`.
import picomatch from 'picomatch'
import { quoted } from './config-fault.ts'
import { LinearPattern } from '../../lib/text-redaction.ts'
import { wrong, type Kind, type Parsed, type Raw } from './kind.ts'
import { nearest } from './nearest.ts'

interface ListKind<T> {
  readonly noun: string
  /** The schema of one item. Default: a string. */
  readonly item?: object
  /** Default: at commas. */
  readonly split?: (text: string) => string[]
  /** Reads the items, which are trimmed and not blank. */
  readonly read: (items: readonly string[]) => Parsed<readonly T[]>
  /** How an empty list is written. */
  readonly empty?: string
}

/** A kind of lists, whose values are written with commas between them. */
export function listOf<T>({ noun, item, split, read, empty = '' }: ListKind<T>): Kind<readonly T[]> {
  return {
    noun,
    secret: false,
    schema: listSchema(item ?? { type: 'string' }),
    parse: raw => {
      const items = itemsOf(raw, split)
      return 'wrong' in items ? items : read(items.value)
    },
    show: values => (values.length === 0 ? empty : values.join(',')),
  }
}

/** A list of texts. */
export const list: Kind<readonly string[]> = listOf({ noun: 'a list', read: value => ({ value }) })

/** One or more of a few words, each once, in any case. */
export function someOf<const W extends string>(words: readonly W[]): Kind<readonly W[]> {
  return listOf({
    noun: `a list of ${inBackticks(words)}`,
    item: { enum: words },
    read: items => someAmong(words, items, `Name one or more of ${words.join(', ')}.`),
  })
}

/** One or more of these words, or `none`. */
export function noneOr<const W extends string>(words: readonly W[]): Kind<readonly W[]> {
  const all = ['none', ...words]
  const remedy = `Write none, or one or more of ${words.join(', ')}.`
  return listOf({
    noun: `\`none\`, or a list of ${inBackticks(words)}`,
    item: { enum: all },
    read: items => {
      const some = someAmong(all, items, remedy)
      if ('wrong' in some) return some
      if (some.value.includes('none') && some.value.length > 1)
        return wrong('none cannot be combined with other values.', remedy)
      return { value: words.filter(word => some.value.includes(word)) }
    },
    empty: 'none',
  })
}

function inBackticks(words: readonly string[]): string {
  return words.map(word => `\`${word}\``).join(', ')
}

/** Those of the words that are listed, in the order of `words`. */
function someAmong<W extends string>(
  words: readonly W[],
  items: readonly string[],
  remedy: string,
): Parsed<readonly W[]> {
  const listed = items.map(item => item.toLowerCase())
  const unknown = items.find(item => !words.some(word => word === item.toLowerCase()))
  if (unknown !== undefined) return wrong(`${quoted(unknown)} is not one of them.`, remedy)
  if (items.length === 0) return wrong('The list is empty.', remedy)
  return { value: words.filter(word => listed.includes(word)) }
}

/** Some of the words, each once, in the order of `words`, in any case. `noun`: what one word is, such as `event`. */
export function wordsOf(words: readonly string[], noun: string): Kind<readonly string[]> {
  const known = [...words, 'all', 'none']
  return listOf({
    noun: `a list of ${noun}s, \`all\` or \`none\``,
    item: { enum: known },
    read: items => {
      const named = items.map(item => item.toLowerCase())
      const unknown = named.find(item => !known.includes(item))
      if (unknown !== undefined) {
        const meant = nearest(unknown, known)
        const remedy = meant === undefined ? `Use some of ${known.join(', ')}.` : `Did you mean ${meant}?`
        return wrong(`${quoted(unknown)} is not a ${noun}.`, remedy)
      }
      const alone = named.find(item => item === 'all' || item === 'none')
      if (alone !== undefined && named.length > 1)
        return wrong(`\`${alone}\` cannot be combined with other values.`, `Use ${alone} alone, or remove it.`)
      if (named.length === 0) return wrong('The list is empty.', 'Write none to exclude all.')
      return { value: alone === 'all' ? words : words.filter(word => named.includes(word)) }
    },
    empty: 'none',
  })
}

/** Paths of OTLP/JSON files in a job's artifacts. */
export const artifactPaths: Kind<readonly string[]> = listOf({
  noun: 'a list of paths',
  read: paths => {
    const bad = paths.find(path => !isArtifactPath(path))
    const remedy = "Write at most 10 paths relative to the job's working directory, such as telemetry/spans.otlp.json."
    if (bad !== undefined) return wrong(`${quoted(bad)} is not a path that ends in .otlp.json or .otlp.jsonl.`, remedy)
    return paths.length > 10 ? wrong('There are more than 10 paths.', remedy) : { value: paths }
  },
})

function isArtifactPath(path: string): boolean {
  const parts = path.split('/')
  return /^[^\p{Cc}*?\\]+\.otlp\.jsonl?$/u.test(path) && parts.every(part => !['', '.', '..'].includes(part))
}

/** Regular expressions whose time is in proportion to the text. A comma within brackets, or after a backslash, is part of its expression. */
export const regularExpressions: Kind<readonly LinearPattern[]> = {
  ...listOf({
    noun: 'a list of regular expressions',
    split: splitPatterns,
    read: items => {
      const value: LinearPattern[] = []
      for (const item of items) {
        const read = LinearPattern.parse(item)
        if (typeof read === 'string') return wrong(`${quoted(item)} ${read}.`, patternRemedy)
        value.push(read)
      }
      return { value }
    },
  }),
  show: items => items.map(({ source }) => source).join(','),
}

const patternRemedy =
  'Use JavaScript syntax without enclosing slashes, backreferences and look-around; it must match at least one character, and be short: divide a long one into several.'

/** Glob patterns (picomatch). A comma within brackets, or after a backslash, is part of its pattern. */
export const patterns: Kind<readonly string[]> = listOf({
  noun: 'a list of patterns',
  split: splitPatterns,
  read: items => {
    const bad = items.find(pattern => !compiles(pattern))
    if (bad === undefined) return { value: items }
    return wrong(`${quoted(bad)} is not a pattern.`, 'Close its brackets: a glob such as team/*.')
  },
})

/** The items of a YAML list, or of a text that `split` splits, without blank ones. */
export function itemsOf(raw: Raw, split = (text: string): string[] => text.split(',')): Parsed<readonly string[]> {
  if (raw instanceof Map) return wrong('A mapping is not a list.', 'Write a list: [one, two].')
  const items = typeof raw === 'string' ? split(raw) : [...(raw as readonly string[])]
  return { value: items.map(item => item.trim()).filter(item => item !== '') }
}

export function listSchema(items: object): { anyOf: object[] } {
  return { anyOf: [{ type: 'string' }, { type: 'array', items }] }
}

function splitPatterns(text: string): string[] {
  const items: string[] = []
  let item = ''
  let depth = 0
  for (const [token] of text.matchAll(/\\.|[^]/g)) {
    if ('{(['.includes(token)) depth++
    if ('})]'.includes(token)) depth--
    if (token === ',' && depth <= 0) {
      items.push(item)
      item = ''
    } else {
      item += token
    }
  }
  return [...items, item]
}

function compiles(pattern: string): boolean {
  try {
    picomatch.makeRe(pattern, { strictBrackets: true })
    return true
  } catch {
    return false
  }
}
