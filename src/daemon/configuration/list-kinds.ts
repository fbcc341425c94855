// Setting types for lists: comma-separated in an environment variable; a list or a comma-separated string in YAML. Some of them accept only
// predefined values, `all` or `none`.
import picomatch from 'picomatch'
import { z } from 'zod'
import { quoted, type Wrong, nearest } from './config-fault.ts'
import { LinearPattern } from '../../lib/text-redaction.ts'
import { kind, reading, refusing, wrong, type Kind } from './kind.ts'

/**
 * Creates a zod schema that turns a YAML list, or a string that `split` divides, into its non-blank items. The next schema must check that each item
 * is a string.
 */
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

interface ListWording<T> {
  readonly noun: string
  /** The noun for a list item in messages. */
  readonly item?: string
  readonly remedy?: string
  /** Splits a string into items; by default, at commas. */
  readonly split?: (text: string) => string[]
  readonly show?: (items: readonly T[]) => string
}

const plainRemedy = 'Write plain values here, quoted if they contain special characters such as [ or {.'

/** Creates a setting type for lists whose items match a schema. */
export function listOf<T>(item: z.ZodType<T, string>, { split, ...wording }: ListWording<T>): Kind<readonly T[]> {
  const schema: z.ZodType<readonly T[]> = itemsOf(split).pipe(z.array(item))
  return kind(schema, { item: 'a plain value', remedy: plainRemedy, ...wording })
}

export const list = listOf(z.string(), { noun: 'a list' })

/** Creates a setting type for a list of one or more of these values, case-insensitive and without duplicates. */
export function someOf<const V extends string>(values: readonly V[]): Kind<readonly V[]> {
  return predefinedList(values, [], `a list of ${inBackticks(values)}`)
}

/** Creates a setting type for a list of one or more of these values, or `none`. */
export function noneOr<const V extends string>(values: readonly V[]): Kind<readonly V[]> {
  return predefinedList(values, ['none'], `\`none\`, or a list of ${inBackticks(values)}`)
}

/** Creates a setting type that accepts `all`, `none` or a list of these values. `noun` is what messages call one of the values, such as `event`. */
export function allNoneOr(values: readonly string[], noun: string): Kind<readonly string[]> {
  return predefinedList(values, ['all', 'none'], `a list of ${noun}s, \`all\` or \`none\``)
}

function inBackticks(values: readonly string[]): string {
  return values.map(value => `\`${value}\``).join(', ')
}

/**
 * Creates a setting type for a list of predefined values, deduplicated and in the order of `values`. A value in `alone` cannot be combined with
 * others.
 */
function predefinedList<V extends string>(
  values: readonly V[],
  alone: readonly ('all' | 'none')[],
  noun: string,
): Kind<readonly V[]> {
  const known: readonly string[] = [...alone, ...values]
  const remedy = `Name one or more of ${known.join(', ')}.`
  const unknown = (value: string): Wrong | undefined => {
    if (known.includes(value)) return undefined
    const meant = nearest(value, known)
    return {
      what: `${quoted(value)} is not an allowed value.`,
      remedy: meant === undefined ? remedy : `Did you mean ${meant}?`,
    }
  }
  const combined = (named: readonly string[]): Wrong | undefined => {
    const one = alone.find(value => named.includes(value))
    if (one === undefined || named.length === 1) return undefined
    return { what: `${one} cannot be combined with other values.`, remedy: `Use ${one} alone, or remove it.` }
  }
  const named = z.array(z.string().toLowerCase().superRefine(refusing(unknown))).nonempty()
  const schema: z.ZodType<readonly V[]> = itemsOf()
    .pipe(named.superRefine(refusing(combined)))
    .transform(some => values.filter(value => some.includes('all') || some.includes(value)))
  return kind(schema, {
    ...{ noun, item: 'an allowed value', remedy },
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

const patternWording = {
  ...{ item: 'a pattern', remedy: 'Write a glob such as team/*, and close all brackets.' },
  split: splitPatterns,
}

/** A list of glob patterns. A comma within brackets or after a backslash is part of the pattern. */
export const patterns = listOf(pattern, { noun: 'a list of patterns', ...patternWording })

/**
 * Creates a setting type for a list of glob patterns. `wrongOf` returns what is wrong with a pattern that can never match. `noun` describes the
 * strings that the patterns match.
 */
export function patternsOf(noun: string, wrongOf: (one: string) => Wrong | undefined): Kind<readonly string[]> {
  return listOf(pattern.superRefine(refusing(wrongOf)), { noun: `a list of patterns of ${noun}`, ...patternWording })
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
