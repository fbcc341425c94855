// The key-value table beneath the repositories, which alone know the content of its values.
import { lockNames } from './steps.ts'
import { record, text } from './columns.ts'
import type { Millis } from '../../../model/instant.ts'
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
}

export const selectValue = 'SELECT value FROM key_value WHERE name = ?1'
export const writeValue = `
  INSERT INTO key_value (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

export const valueOf = text('value')
const entry = record({ name: text('name'), value: valueOf })

export function keyValueOn(sql: Statements): KeyValue {
  return {
    read: async name => (await sql.all(selectValue, [name])).map(valueOf)[0],
    change: async (name, change) =>
      sql.transaction(function* (within) {
        // A document that does not exist yet has no row to lock, so its name is locked.
        yield* lockNames([name], within)
        const [row] = yield [selectValue, [name]]
        const { value, result } = change(row && valueOf(row), within.now)
        if (value === undefined) yield ['DELETE FROM key_value WHERE name = ?1', [name]]
        else yield [writeValue, [name, value]]
        return result
      }),
    list: async prefix => {
      const beginning = 'substr(name, 1, length(CAST(?1 AS text))) = ?1'
      return (await sql.all(`SELECT name, value FROM key_value WHERE ${beginning} ORDER BY name`, [prefix])).map(entry)
    },
  }
}
