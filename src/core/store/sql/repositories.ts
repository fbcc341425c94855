// Repositories in the key-value table, for both databases. A document that does not match the schema of its kind is damaged: it is logged once and
// treated as missing.
import { repositoriesOf, type Repositories, type Repository } from '../ports/repository.ts'
import { storedDocument } from './stored-json.ts'
import type { Statements } from './statements.ts'
import type { z } from 'zod'
import { lockNames } from './steps.ts'
import { record, text } from './columns.ts'
import type { Millis } from '../../../model/instant.ts'

export function repositories(sql: Statements): Repositories {
  /** Changes a value under a lock. Undefined deletes the value. */
  const changeValue = async <T>(
    name: string,
    change: (value: string | undefined, now: Millis) => { readonly value: string | undefined; readonly result: T },
  ): Promise<T> =>
    sql.transaction(function* (within) {
      // A document that does not exist yet has no row to lock, so its name is locked instead.
      yield* lockNames([name], within)
      const [row] = yield [selectValue, [name]]
      const { value, result } = change(row && valueOf(row), within.now)
      if (value === undefined) yield ['DELETE FROM key_value WHERE name = ?1', [name]]
      else yield [writeValue, [name, value]]
      return result
    })

  function repository<Document extends object, Key extends keyof Document>(
    kind: string,
    shape: z.ZodType<Document>,
    key: readonly Key[],
  ): Repository<Document, Key> {
    // The name of a document, for example `poll/sweep https://git.example.com acme/shop`.
    const nameOf = (of: Pick<Document, Key>): string => [kind, ...key.map(field => String(of[field]))].join(' ')
    const documentOf = (name: string, text: string | undefined): Document | undefined =>
      text === undefined
        ? undefined
        : sql.damaged.row('key_value', { name, text }, row => storedDocument(row.text, shape))
    /** Lists the documents, ordered by name. */
    const list = async () => {
      const beginning = 'substr(name, 1, length(CAST(?1 AS text))) = ?1'
      const select = `SELECT name, value FROM key_value WHERE ${beginning} ORDER BY name`
      return (await sql.all(select, [key.length === 0 ? kind : `${kind} `])).map(entry)
    }
    return {
      get: async of => documentOf(nameOf(of), (await sql.all(selectValue, [nameOf(of)])).map(valueOf)[0]),
      all: async onDamaged =>
        (await list()).flatMap(({ name, value }) => {
          const document = documentOf(name, value)
          if (document === undefined) onDamaged?.(name)
          return document ?? []
        }),
      put: async document =>
        changeValue(nameOf(document), () => ({ value: JSON.stringify(document), result: undefined })),
      remove: async of => changeValue(nameOf(of), () => ({ value: undefined, result: undefined })),
      prune: async isOver => {
        const now = await sql.now()
        for (const { name, value } of await list()) {
          const left = (text: string | undefined): string | undefined => {
            const document = documentOf(name, text)
            return document === undefined || isOver(document, now) ? undefined : text
          }
          if (left(value) !== undefined) continue
          await changeValue(name, text => ({ value: left(text), result: undefined }))
        }
      },
      change: async (of, change) =>
        changeValue(nameOf(of), (text, now) => {
          const { document, result } = change(documentOf(nameOf(of), text), now)
          return { value: document && JSON.stringify(document), result }
        }),
      now: async () => sql.now(),
    }
  }
  return repositoriesOf(repository)
}

export const selectValue = 'SELECT value FROM key_value WHERE name = ?1'
export const writeValue = `
  INSERT INTO key_value (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

export const valueOf = text('value')
const entry = record({ name: text('name'), value: valueOf })
