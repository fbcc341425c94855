// Setting types for lists: comma-separated in an environment variable; a list or comma-separated text in YAML. Also lists of predefined words: some
// of the words, `all`, or `none`.
import picomatch from 'picomatch'
import { z } from 'zod'
import { quoted, type Wrong, nearest } from './config-fault.ts'
import { LinearPattern } from '../../lib/text-redaction.ts'
import { kind, reading, refusing, wrong, type Kind } from './kind.ts'

/** Returns the non-blank items of a YAML list, or of a string that `split` divides. The schema after this one checks that each item is a string. */
export function itemsOf(split = (text: string) => text.split(','), trim = (item: string) => item.trim()) {
  return z.unknown().transform(
    reading(raw => {
      const items: unknown = typeof raw === 'string' ? split(raw) : raw
      if (!Array.isArray(items)) return wrong('A mapping is not a list.', 'Write a list: [one, two].')
      const texts = items.map(item => (typeof item === 'string' ? trim(item) : (item as string)))
      return { value: texts.filter(item => item !== '') }
    }),
  )
}

interface ListWords<T> {
  readonly noun: string
  /** What messages call an item of the list. */
  readonly item?: string
  readonly remedy?: string
  /** Splits a text into items; by default, at commas. */
  readonly split?: (text: string) => string[]
  readonly show?: (items: readonly T[]) => string
}

const plainRemedy = 'Write plain values here, quoted if they contain special characters such as [ or {.'

/** Creates a setting type for lists whose items match a schema. */
export function listOf<T>(item: z.ZodType<T, string>, { split, ...words }: ListWords<T>): Kind<readonly T[]> {
  const schema: z.ZodType<readonly T[]> = itemsOf(split).pipe(z.array(item))
  return kind(schema, { item: 'a plain value', remedy: plainRemedy, ...words })
}

export const list = listOf(z.string(), { noun: 'a list' })

/** Creates a setting type for a list of one or more of these words, without duplicates and case-insensitive. */
export function someOf<const W extends string>(words: readonly W[]): Kind<readonly W[]> {
  return wordList(words, [], `a list of ${inBackticks(words)}`)
}

/** Creates a setting type for a list of one or more of these words, or `none`. */
export function noneOr<const W extends string>(words: readonly W[]): Kind<readonly W[]> {
  return wordList(words, ['none'], `\`none\`, or a list of ${inBackticks(words)}`)
}

/** Creates a setting type that accepts `all`, `none` or a list of these words. `noun` is what messages call one of the words, such as `event`. */
export function wordsOf(words: readonly string[], noun: string): Kind<readonly string[]> {
  return wordList(words, ['all', 'none'], `a list of ${noun}s, \`all\` or \`none\``)
}

function inBackticks(words: readonly string[]): string {
  return words.map(word => `\`${word}\``).join(', ')
}

/** Creates a setting type for a list of words, deduplicated and in the order of `words`. `alone` are words that cannot be combined with others. */
function wordList<W extends string>(
  words: readonly W[],
  alone: readonly ('all' | 'none')[],
  noun: string,
): Kind<readonly W[]> {
  const known: readonly string[] = [...alone, ...words]
  const remedy = `Name one or more of ${known.join(', ')}.`
  const unknown = (word: string): Wrong | undefined => {
    if (known.includes(word)) return undefined
    const meant = nearest(word, known)
    return {
      what: `${quoted(word)} is not one of them.`,
      remedy: meant === undefined ? remedy : `Did you mean ${meant}?`,
    }
  }
  const combined = (named: readonly string[]): Wrong | undefined => {
    const one = alone.find(word => named.includes(word))
    if (one === undefined || named.length === 1) return undefined
    return { what: `${one} cannot be combined with other values.`, remedy: `Use ${one} alone, or remove it.` }
  }
  const named = z.array(z.string().toLowerCase().superRefine(refusing(unknown))).nonempty()
  const schema: z.ZodType<readonly W[]> = itemsOf()
    .pipe(named.superRefine(refusing(combined)))
    .transform(some => words.filter(word => some.includes('all') || some.includes(word)))
  return kind(schema, {
    ...{ noun, item: 'one of them', remedy },
    json: { anyOf: [{ type: 'string' }, { type: 'array', items: { enum: known } }] },
    show: some => (some.length === 0 ? 'none' : some.join(',')),
  })
}

/** The paths of OTLP/JSON files in a job's artifacts. */
export const artifactPaths = kind<readonly string[]>(
  itemsOf().pipe(z.array(z.string().refine(isArtifactPath)).max(10)),
  {
    noun: 'a list of paths',
    item: 'a path that ends in .otlp.json or .otlp.jsonl',
    remedy: "Write at most 10 paths relative to the job's working directory, such as telemetry/spans.otlp.json.",
  },
)

function isArtifactPath(path: string): boolean {
  const parts = path.split('/')
  return /^[^\p{Cc}*?\\]+\.otlp\.jsonl?$/u.test(path) && parts.every(part => !['', '.', '..'].includes(part))
}

/** Regular expressions that match in linear time. A comma within brackets or after a backslash is part of the expression. */
export const regularExpressions = listOf(
  z.string().transform(
    reading(item => {
      const read = LinearPattern.parse(item)
      return typeof read === 'string' ? wrong(`${quoted(item)} ${read}.`, patternRemedy) : { value: read }
    }),
  ),
  {
    noun: 'a list of regular expressions',
    split: splitPatterns,
    show: items => items.map(({ source }) => source).join(','),
  },
)

const patternRemedy =
  'Use JavaScript syntax without enclosing slashes, backreferences and look-around; it must match at least one character, and be short: divide a long one into several.'

/** A glob pattern (picomatch). */
export const pattern = z.string().refine(compiles)

const patternWords = {
  ...{ item: 'a pattern', remedy: 'Close its brackets: a glob such as team/*.' },
  split: splitPatterns,
}

/** A list of glob patterns. A comma within brackets or after a backslash is part of the pattern. */
export const patterns = listOf(pattern, { noun: 'a list of patterns', ...patternWords })

/**
 * Creates a setting type for a list of patterns that match a certain kind of text. `wrongOf` returns what is wrong with a pattern that cannot match
 * any such text.
 */
export function patternsOf(noun: string, wrongOf: (one: string) => Wrong | undefined): Kind<readonly string[]> {
  return listOf(pattern.superRefine(refusing(wrongOf)), { noun: `a list of patterns of ${noun}`, ...patternWords })
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

function compiles(glob: string): boolean {
  try {
    picomatch.makeRe(glob, { strictBrackets: true })
    return true
  } catch {
    return false
  }
}
