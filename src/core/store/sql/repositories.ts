// The repositories, for both databases, in the key-value table. A document that has not the shape of its kind is damaged: it is logged once, and treated
// as missing.
import { keyValueOn } from './key-value.ts'
import { repositoriesOf, type Repositories, type Repository } from '../ports/repository.ts'
import { storedDocument } from './stored-json.ts'
import type { Statements } from './statements.ts'
import type { z } from 'zod'

export function repositories(sql: Statements): Repositories {
  const keyValue = keyValueOn(sql)
  function repository<Document extends object, Key extends keyof Document>(
    kind: string,
    shape: z.ZodType<Document>,
    key: readonly Key[],
  ): Repository<Document, Key> {
    // Such as `poll/sweep https://git.example.com acme/shop`.
    const nameOf = (of: Pick<Document, Key>): string => [kind, ...key.map(field => String(of[field]))].join(' ')
    const documentOf = (name: string, text: string): Document | undefined =>
      sql.damaged.row('key_value', { name, text }, row => storedDocument(row.text, shape))
    const list = async () => keyValue.list(key.length === 0 ? kind : `${kind} `)
    return {
      get: async of => {
        const text = await keyValue.read(nameOf(of))
        return text === undefined ? undefined : documentOf(nameOf(of), text)
      },
      all: async onDamaged =>
        (await list()).flatMap(({ name, value }) => {
          const document = documentOf(name, value)
          if (document === undefined) onDamaged?.(name)
          return document ?? []
        }),
      put: async document =>
        keyValue.change(nameOf(document), () => ({ value: JSON.stringify(document), result: undefined })),
      remove: async of => keyValue.change(nameOf(of), () => ({ value: undefined, result: undefined })),
      prune: async isOver => {
        const now = await sql.now()
        for (const { name, value } of await list()) {
          const left = (text: string | undefined): string | undefined => {
            const document = text === undefined ? undefined : documentOf(name, text)
            return document === undefined || isOver(document, now) ? undefined : text
          }
          if (left(value) !== undefined) continue
          await keyValue.change(name, text => ({ value: left(text), result: undefined }))
        }
      },
      change: async (of, change) =>
        keyValue.change(nameOf(of), (text, now) => {
          const { document, result } = change(text === undefined ? undefined : documentOf(nameOf(of), text), now)
          return { value: document && JSON.stringify(document), result }
        }),
      now: async () => sql.now(),
    }
  }

  return repositoriesOf(repository)
}
