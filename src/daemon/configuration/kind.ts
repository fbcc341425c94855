// A setting type, such as a duration: a zod schema, which parses values from environment variables and from YAML alike, and the wording for messages.
import { z } from 'zod'
import { quoted, type Wrong } from './config-fault.ts'

export type Parsed<T> = { readonly value: T } | { readonly wrong: Wrong }

export function wrong(what: string, remedy: string): { readonly wrong: Wrong } {
  return { wrong: { what, remedy } }
}

interface KindSpec<T> {
  /** The name of the setting type with its article, such as `a duration`. */
  readonly noun: string
  /** The noun for a list item in messages, if the setting type is a list. */
  readonly item?: string
  /** What the operator should write instead, as a full sentence: `Write a number with its unit, such as 5s or 1h.` */
  readonly remedy: string
  /** Whether the value is a secret. A secret is never shown, and can also be read from a file. */
  readonly secret?: true
  /** The JSON Schema of the YAML value, for editors; set if it cannot be derived from the zod schema. */
  readonly json?: Readonly<Record<string, unknown>>
  /** Returns the value as the operator would write it, with secrets masked. */
  show?(value: T): string
  /**
   * Returns the part of a secret that other objects depend on, such as the names of header templates. This part changes only with a reload; the rest
   * may change at any time.
   */
  shape?(value: T): string
}

export class Kind<T> {
  readonly schema: z.ZodType<T>
  readonly spec: KindSpec<T>

  constructor(schema: z.ZodType<T>, spec: KindSpec<T>) {
    this.schema = schema
    this.spec = spec
  }

  get noun(): string {
    return this.spec.noun
  }

  get secret(): boolean {
    return this.spec.secret === true
  }

  /**
   * Parses a value. `raw` is a string, or lists and mappings of strings, because all scalars in a configuration file are read as strings. It is never
   * blank.
   */
  parse(raw: unknown): Parsed<T> {
    const { data, error } = this.schema.safeParse(raw, { reportInput: true })
    const [issue] = error?.issues ?? []
    return issue === undefined ? { value: data as T } : { wrong: this.#wrongOf(issue, raw) }
  }

  #wrongOf(issue: z.core.$ZodIssue, raw: unknown): Wrong {
    const { noun, item, remedy } = this.spec
    if (issue.code === 'custom' && typeof issue.params?.remedy === 'string')
      return { what: issue.message, remedy: issue.params.remedy }
    if ('origin' in issue && issue.origin === 'array')
      return { what: `The list is ${issue.code === 'too_small' ? 'empty' : 'too long'}.`, remedy }
    const isItem = issue.path.length > 0
    const given = isItem ? issue.input : raw
    return { what: `${this.secret ? 'This' : named(given)} is not ${isItem ? (item ?? noun) : noun}.`, remedy }
  }

  shape(value: T): string {
    return this.spec.shape?.(value) ?? ''
  }

  show(value: T): string {
    return this.spec.show?.(value) ?? (Array.isArray(value) ? value.join(',') : String(value))
  }
}

function named(given: unknown): string {
  if (typeof given !== 'object' || given === null) return quoted(String(given))
  return Array.isArray(given) ? 'A list' : 'A mapping'
}

export function kind<T>(schema: z.ZodType<T>, spec: KindSpec<T>): Kind<T> {
  return new Kind(schema, spec)
}

/** The schema for a single line of text, in an environment variable or in YAML. */
export const line = z.string().trim()

/** Creates a zod transformation from a function that returns either a value or what is wrong. */
export function reading<I, T>(read: (input: I) => Parsed<T>): (input: I, context: z.RefinementCtx) => T {
  return (input, context) => {
    const parsed = read(input)
    if ('value' in parsed) return parsed.value
    report(parsed.wrong, context)
    return z.NEVER
  }
}

/** Creates a zod refinement from a function that returns what is wrong, if anything. */
export function refusing<T>(wrongOf: (value: T) => Wrong | undefined): (value: T, context: z.RefinementCtx) => void {
  return (value, context) => {
    const found = wrongOf(value)
    if (found !== undefined) report(found, context)
  }
}

function report({ what, remedy }: Wrong, context: z.RefinementCtx): void {
  context.addIssue({ code: 'custom', message: what, params: { remedy } })
}

/**
 * Creates a setting type for a single string from a function that parses it. The function returns the value, undefined if the string is not of this
 * type, or a fault if something else is wrong with it.
 */
export function scalar<T>({
  read,
  ...spec
}: KindSpec<T> & { readonly read: (text: string) => T | Wrong | undefined }): Kind<T> {
  const step = (text: string): Parsed<T> => {
    const value = read(text)
    if (value === undefined) return wrong(`${quoted(text)} is not ${spec.noun}.`, spec.remedy)
    return isWrong(value) ? { wrong: value } : { value }
  }
  return kind(line.transform(reading(step)) as unknown as z.ZodType<T>, spec)
}

function isWrong(read: unknown): read is Wrong {
  return typeof read === 'object' && read !== null && 'what' in read && 'remedy' in read
}
