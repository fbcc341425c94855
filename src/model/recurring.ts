// Equal runners and people as one object. Jobs of all pipelines name the same few over and over, and a chunk stays in memory until it is sent and
// counted: shared objects are neither copied by the garbage collector nor take memory twice.
import type { Person, Runner } from './observation.ts'

/** Beyond this limit all are forgotten and collected again. */
const most = 512

/** The runner itself, or one that equals it in every field. */
export const oneRunner = recurring<Runner>()
/** The same for a person. */
export const onePerson = recurring<Person>()

type Fields = Readonly<Record<string, unknown>>

function recurring<T extends { readonly id?: number | undefined }>(): (one: T) => T {
  const known = new Map<number, T>()
  return one => {
    if (one.id === undefined) return one
    const before = known.get(one.id)
    if (before !== undefined && areSame(before, one)) return before
    if (known.size >= most) known.clear()
    known.set(one.id, one)
    return one
  }
}

/** The same fields with the same values or lists of values. */
function areSame(a: Fields, b: Fields): boolean {
  for (const field in b) if (!(field in a)) return false
  for (const field in a) {
    if (!(field in b)) return false
    const value = a[field]
    if (value !== b[field] && !areSameLists(value, b[field])) return false
  }
  return true
}

function areSameLists(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false
  return true
}
