// Encodes IDs and parameters in the URL of a request (REST document, "Request rules").
import { PlatformError, type ResourceId } from '../port.ts'

type Scalar = string | number | boolean

/** A value, an array of values, a hash, or an array of hashes. Undefined values are omitted. */
export type QueryValue = Scalar | undefined | readonly Scalar[] | Hash | readonly Hash[]

type Hash = Readonly<Record<string, Scalar | undefined>>

export type Query = Readonly<Record<string, QueryValue>>

/**
 * The ID as a URL-encoded path segment (`/` becomes `%2F`). Throws a PlatformError for an invalid ID, such as `..`, which would address something
 * else: it concerns this ID alone, as an answer of the platform would.
 */
export function segmentOf(id: ResourceId): string {
  if (typeof id === 'number') {
    if (!Number.isSafeInteger(id) || id < 0) throw errorOfId(`${id} is not the number of a project or a group.`)
    return String(id)
  }
  const path = id.replace(/^\/+|\/+$/g, '')
  if (path === '' || path === '.' || path === '..') throw errorOfId(`"${id}" is not the path of a project or a group.`)
  return encodeURIComponent(path)
}

function errorOfId(what: string): PlatformError {
  return new PlatformError({
    kind: 'refused',
    what,
    remedy: 'Use its full path, such as group/project, or its number.',
  })
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
