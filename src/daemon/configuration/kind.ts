// A kind of setting, such as a duration: one parser for the variable's text and for the YAML value, and how values are shown.
import { quoted, type Wrong } from './config-fault.ts'

/** A value as the operator wrote it: a text, a YAML list or a YAML mapping of texts; of a kind that nests also of mappings. It is never blank. */
export type Raw = string | readonly string[] | ReadonlyMap<string, string | ReadonlyMap<string, string>>

export type Parsed<T> = { readonly value: T } | { readonly wrong: Wrong }

export function wrong(what: string, remedy: string): { readonly wrong: Wrong } {
  return { wrong: { what, remedy } }
}

/** A fragment of JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

export interface Kind<T> {
  /** What a value is called, with its article: `a duration`. */
  readonly noun: string
  /** A secret is never shown, and may also be given as a file. */
  readonly secret: boolean
  /** A mapping may have mappings as its values. */
  readonly nests?: true
  /** The schema of the YAML value, for editors. */
  readonly schema: JsonSchema
  parse(raw: Raw): Parsed<T>
  /** The value as the operator would write it, with secrets masked. */
  show(value: T): string
  /** What of a secret the parts are built for, such as the names of templates. Only a reload can change it; the rest of a secret may change at any time. */
  shape?(value: T): string
}

interface ScalarKind<T> {
  readonly noun: string
  /** A whole sentence: `Write a number with its unit, such as 5s or 1h.` */
  readonly remedy: string
  /** The value; undefined if the text is not one; or what else is wrong with it. */
  read(text: string): T | Wrong | undefined
  readonly schema?: JsonSchema
  show?(value: T): string
}

/** A kind whose values are single texts, both in a variable and in YAML. */
export function scalar<T extends string | number | boolean | object>(spec: ScalarKind<T>): Kind<T> {
  const { noun, remedy } = spec
  return {
    noun,
    secret: false,
    schema: spec.schema ?? { type: 'string' },
    parse: raw => {
      if (typeof raw !== 'string')
        return wrong(`${raw instanceof Map ? 'A mapping' : 'A list'} is not ${noun}.`, remedy)
      const read = spec.read(raw.trim())
      if (read === undefined) return wrong(`${quoted(raw)} is not ${noun}.`, remedy)
      return isWrong(read) ? { wrong: read } : { value: read }
    },
    show: value => spec.show?.(value) ?? (typeof value === 'object' ? noun : String(value)),
  }
}

function isWrong(read: unknown): read is Wrong {
  return typeof read === 'object' && read !== null && 'what' in read && 'remedy' in read
}
