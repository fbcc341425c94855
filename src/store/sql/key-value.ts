// The key-value table beneath the repositories, which alone know the content of its values.
import { record, text } from './columns.ts'
import type { Millis } from '../../model/instant.ts'
import type { Statements } from './statements.ts'

export interface KeyValue {
  read(name: string): Promise<string | undefined>
  /** Changes one under a lock; undefined deletes it. */
  change<T>(
    name: string,
    change: (value: string | undefined, now: Millis) => { readonly value: string | undefined; readonly result: T },
  ): Promise<T>
  /** In the order of their names. */
  list(prefix: string): Promise<readonly { readonly name: string; readonly value: string }[]>
  now(): Promise<Millis>
}

export const selectValue = 'SELECT value FROM key_value WHERE name = ?1'
export const deleteValue = 'DELETE FROM key_value WHERE name = ?1'
export const writeValue = `
  INSERT INTO key_value (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

export const valueOf = text('value')
const entry = record({ name: text('name'), value: valueOf })

export function keyValueReads(sql: Statements): Pick<KeyValue, 'read' | 'list' | 'now'> {
  return {
    read: async name => (await sql.all(selectValue, [name])).map(valueOf)[0],
    list: async prefix => {
      const beginning = 'substr(name, 1, length(CAST(?1 AS text))) = ?1'
      return (await sql.all(`SELECT name, value FROM key_value WHERE ${beginning} ORDER BY name`, [prefix])).map(entry)
    },
    now: async () => sql.now(),
  }
}
