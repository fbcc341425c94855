// The schemas of features: how many steps of each were done is stored, and those that are missing are done when the store is opened.
import { number, record, text, type Row } from './columns.ts'
import { StoreError } from '../../../lib/fault.ts'
import type { Dialect } from './dialect.ts'
import type { StorePart } from '../ports/store-part.ts'

export const selectPartNumbers = 'SELECT name, number FROM schema_parts'

export interface MissingSteps {
  readonly name: string
  /** How many will have been done. */
  readonly number: number
  readonly steps: readonly string[]
}

/** The steps that are missing, given the rows of `selectPartNumbers`. Throws StoreError for a schema that is more than one step newer. */
export function missingSteps(rows: readonly Row[], parts: readonly StorePart[], dialect: Dialect): MissingSteps[] {
  const done = new Map(rows.map(partNumber).map(one => [one.name, one.number]))
  return parts.flatMap(({ name, schema }) => {
    const known = done.get(name) ?? 0
    if (known > schema.length + 1)
      throw new StoreError(
        `The store has schema ${known} of ${name}; this version supports schemas up to ${schema.length + 1}.`,
        'Run the Pipespan version that wrote it, or a newer one.',
      )
    const steps = schema.slice(known).map(step => step(dialect))
    return steps.length === 0 ? [] : [{ name, number: schema.length, steps }]
  })
}

const partNumber = record({ name: text('name'), number: number('number') })
