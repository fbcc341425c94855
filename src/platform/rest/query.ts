// Encodes IDs and parameters in the URL of a request (REST document, "Request rules").
import type { ResourceId } from '../port.ts'

type Scalar = string | number | boolean

/** A value, an array of values, a hash, or an array of hashes. Undefined values are omitted. */
export type QueryValue = Scalar | undefined | readonly Scalar[] | Hash | readonly Hash[]

type Hash = Readonly<Record<string, Scalar | undefined>>

export type Query = Readonly<Record<string, QueryValue>>

/**
 * The ID as a URL-encoded path segment (`/` becomes `%2F`). Throws a RangeError for an invalid ID, such as `..`, which would address something
 * else.
 */
export function segmentOf(id: ResourceId): string {
  if (typeof id === 'number') {
    if (!Number.isSafeInteger(id) || id < 0) throw new RangeError(`Not an id: ${id}`)
    return String(id)
  }
  const path = id.replace(/^\/+|\/+$/g, '')
  if (path === '' || path === '.' || path === '..')
    throw new RangeError(`Not the path of a project or a group: "${id}"`)
  return encodeURIComponent(path)
}

/** Encodes a query as `name=a`, `name[]=a&name[]=b`, `name[key]=a` or `name[0][key]=a`, without a leading `?`. A `+` becomes `%2B`. */
export function encodeQuery(query: Query): string {
  return Object.entries(query)
    .flatMap(([name, value]) => pairs(encodeURIComponent(name), value))
    .join('&')
}

function pairs(name: string, value: QueryValue): string[] {
  if (value === undefined) return []
  if (isList(value)) {
    return value.flatMap((item, index) =>
      typeof item === 'object' ? pairs(`${name}[${index}]`, item) : pairs(`${name}[]`, item),
    )
  }
  if (typeof value === 'object') {
    return Object.entries(value).flatMap(([key, inner]) => pairs(`${name}[${encodeURIComponent(key)}]`, inner))
  }
  return [`${name}=${encodeURIComponent(value)}`]
}

function isList(value: QueryValue): value is readonly Scalar[] | readonly Hash[] {
  return Array.isArray(value)
}
