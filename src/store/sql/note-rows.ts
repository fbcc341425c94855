// Documents by name, of whatever shape, over the table of texts. A damaged one is passed over.
import { storedJson, type DamagedRows } from './stored-json.ts'
import type { Json, Notes } from '../ports/notes.ts'
import type { KeyValue } from './key-value.ts'

export function notesOver(keyValue: KeyValue, damaged: DamagedRows): Notes {
  const valueOf = (name: string, text: string | undefined): Json | undefined =>
    text === undefined
      ? undefined
      : damaged.orNothing({ document: name }, 'it is written anew', () => storedJson<Json>(text))
  const read = async (name: string): Promise<Json | undefined> => valueOf(name, await keyValue.read(name))
  return {
    read,
    readAt: async name => ({ value: await read(name), now: await keyValue.now() }),
    change: async (name, change) =>
      keyValue.change(name, (text, now) => {
        const { value, result } = change(valueOf(name, text), now)
        return { value: value === undefined ? undefined : JSON.stringify(value), result }
      }),
    list: async prefix =>
      new Map((await keyValue.list(prefix)).map(({ name, value }) => [name, valueOf(name, value) ?? null])),
  }
}
