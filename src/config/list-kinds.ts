// Kinds of lists: comma-separated in a variable; a list, or the same comma-separated text, in YAML. And lists of known words: some of them, `all`, or `none`.
import picomatch from 'picomatch'
import { quoted } from './config-fault.ts'
import { LinearPattern } from '../lib/linear-pattern.ts'
import type { Kind, Parsed, Raw } from './kind.ts'
import { nearest } from './nearest.ts'

/** A list of texts. */
export const list: Kind<readonly string[]> = {
  noun: 'a list',
  secret: false,
  schema: listSchema({ type: 'string' }),
  parse: raw => itemsOf(raw),
  show: items => items.join(','),
}

/** One or more of a few words, each once, in any case. */
export function someOf<const W extends string>(words: readonly W[]): Kind<readonly W[]> {
  const noun = `a list of ${words.map(word => `\`${word}\``).join(', ')}`
  const remedy = `Name one or more of ${words.join(', ')}.`
  return {
    noun,
    secret: false,
    schema: listSchema({ enum: words }),
    parse: raw => {
      const items = itemsOf(raw)
      if ('wrong' in items) return items
      const found = items.value.map(item => words.find(word => word === item.toLowerCase()))
      const unknown = items.value.find((_, index) => found[index] === undefined)
      if (unknown !== undefined) return { wrong: { what: `${quoted(unknown)} is not one of them.`, remedy } }
      if (found.length === 0) return { wrong: { what: 'The list is empty.', remedy } }
      return { value: words.filter(word => found.includes(word)) }
    },
    show: items => items.join(','),
  }
}

/** Paths of OTLP/JSON files in a job's artifacts. */
export const artifactPaths: Kind<readonly string[]> = {
  noun: 'a list of paths',
  secret: false,
  schema: listSchema({ type: 'string' }),
  parse: raw => {
    const items = itemsOf(raw)
    if ('wrong' in items) return items
    const bad = items.value.find(path => !isArtifactPath(path))
    const remedy = "Write at most 10 paths relative to the job's working directory, such as telemetry/spans.otlp.json."
    if (bad !== undefined) {
      return { wrong: { what: `${quoted(bad)} is not a path that ends in .otlp.json or .otlp.jsonl.`, remedy } }
    }
    return items.value.length > 10 ? { wrong: { what: 'There are more than 10 paths.', remedy } } : items
  },
  show: items => items.join(','),
}

function isArtifactPath(path: string): boolean {
  const parts = path.split('/')
  return /^[^\p{Cc}*?\\]+\.otlp\.jsonl?$/u.test(path) && parts.every(part => !['', '.', '..'].includes(part))
}

/** One or more of these words, or `none`. */
export function noneOr<const W extends string>(words: readonly W[]): Kind<readonly W[]> {
  const all = ['none', ...words]
  const some = someOf(all)
  const remedy = `Write none, or one or more of ${words.join(', ')}.`
  return {
    noun: `\`none\`, or a list of ${words.map(word => `\`${word}\``).join(', ')}`,
    secret: false,
    schema: listSchema({ enum: all }),
    parse: raw => {
      const items = some.parse(raw)
      if ('wrong' in items) return { wrong: { ...items.wrong, remedy } }
      const { value } = items
      if (value.includes('none') && value.length > 1)
        return { wrong: { what: 'none cannot be combined with other values.', remedy } }
      return { value: words.filter(word => value.includes(word)) }
    },
    show: items => (items.length === 0 ? 'none' : items.join(',')),
  }
}

/** Regular expressions whose time is in proportion to the text. A comma within brackets, or after a backslash, is part of its expression. */
export const regularExpressions: Kind<readonly LinearPattern[]> = {
  noun: 'a list of regular expressions',
  secret: false,
  schema: listSchema({ type: 'string' }),
  parse: raw => {
    const items = itemsOf(raw, splitPatterns)
    if ('wrong' in items) return items
    const value: LinearPattern[] = []
    for (const item of items.value) {
      const read = LinearPattern.parse(item)
      if (typeof read === 'string') return { wrong: { what: `${quoted(item)} ${read}.`, remedy: patternRemedy } }
      value.push(read)
    }
    return { value }
  },
  show: items => items.map(({ source }) => source).join(','),
}

const patternRemedy =
  'Use JavaScript syntax without enclosing slashes, backreferences and look-around; it must match at least one character, and be short: divide a long one into several.'

/** Glob patterns (picomatch). A comma within brackets, or after a backslash, is part of its pattern. */
export const patterns: Kind<readonly string[]> = {
  noun: 'a list of patterns',
  secret: false,
  schema: listSchema({ type: 'string' }),
  parse: raw => {
    const items = itemsOf(raw, splitPatterns)
    if ('wrong' in items) return items
    const bad = items.value.find(pattern => !compiles(pattern))
    if (bad === undefined) return items
    return { wrong: { what: `${quoted(bad)} is not a pattern.`, remedy: 'Close its brackets: a glob such as team/*.' } }
  },
  show: items => items.join(','),
}

/** The items of a YAML list, or of a text that `split` splits, without blank ones. */
export function itemsOf(raw: Raw, split: (text: string) => string[] = atCommas): Parsed<readonly string[]> {
  if (raw instanceof Map) return { wrong: { what: 'A mapping is not a list.', remedy: 'Write a list: [one, two].' } }
  const items = typeof raw === 'string' ? split(raw) : [...(raw as readonly string[])]
  return { value: items.map(item => item.trim()).filter(item => item !== '') }
}

export function listSchema(items: object): { anyOf: object[] } {
  return { anyOf: [{ type: 'string' }, { type: 'array', items }] }
}

function atCommas(text: string): string[] {
  return text.split(',')
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

/** Some of the words, each once, in the order of `words`, in any case. `noun`: what one word is, such as `event`. */
export function wordsOf(words: readonly string[], noun: string): Kind<readonly string[]> {
  const known = [...words, 'all', 'none']
  return {
    noun: `a list of ${noun}s, \`all\` or \`none\``,
    secret: false,
    schema: listSchema({ enum: known }),
    parse: raw => {
      const items = itemsOf(raw)
      if ('wrong' in items) return items
      const named = items.value.map(item => item.toLowerCase())
      const unknown = named.find(item => !known.includes(item))
      if (unknown !== undefined) {
        const meant = nearest(unknown, known)
        const remedy = meant === undefined ? `Use some of ${known.join(', ')}.` : `Did you mean ${meant}?`
        return { wrong: { what: `${quoted(unknown)} is not a ${noun}.`, remedy } }
      }
      const alone = named.find(item => item === 'all' || item === 'none')
      if (alone !== undefined && named.length > 1) {
        return {
          wrong: {
            what: `\`${alone}\` cannot be combined with other values.`,
            remedy: `Use ${alone} alone, or remove it.`,
          },
        }
      }
      if (named.length === 0) return { wrong: { what: 'The list is empty.', remedy: 'Write none to exclude all.' } }
      return { value: alone === 'all' ? words : words.filter(word => named.includes(word)) }
    },
    show: items => (items.length === 0 ? 'none' : items.join(',')),
  }
}
