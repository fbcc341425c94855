// Tests how the URLs of requests are made.
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { PlatformError } from '../../../src/platform/port.ts'
import { encodeQuery, segmentOf, type Query } from '../../../src/platform/rest/query.ts'

describe('the query of a request', () => {
  it('encodes + as %2B, so that a time keeps its zone', () => {
    expect(encodeQuery({ updated_after: '2025-03-11T08:00:00+01:00' })).toBe(
      'updated_after=2025-03-11T08%3A00%3A00%2B01%3A00',
    )
  })

  it('encodes arrays, hashes and arrays of hashes as documented', () => {
    expect(encodeQuery({ a: ['x', 'y'], h: { k: 1, gone: undefined }, l: [{ k: true }, { k: false }] })).toBe(
      'a[]=x&a[]=y&h[k]=1&l[0][k]=true&l[1][k]=false',
    )
  })

  it('omits undefined values and keeps empty ones', () => {
    expect(encodeQuery({ a: undefined, b: '', c: [] })).toBe('b=')
  })

  it('decodes to the same names and values', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1 }).filter(text => !/[[\]]/.test(text))
    const scalar = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean())
    const value = fc.oneof(scalar, fc.array(scalar, { minLength: 1 }), fc.dictionary(name, scalar, { minKeys: 1 }))
    fc.assert(
      fc.property(fc.dictionary(name, value), query => {
        expect([...new URLSearchParams(encodeQuery(query))]).toEqual(documented(query))
      }),
    )
  })
})

/** The pairs that the platform's documentation names for a query. */
function documented(query: Query): [string, string][] {
  return Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (Array.isArray(value)) return value.map(item => [`${name}[]`, String(item)])
    if (typeof value === 'object') return Object.entries(value).map(([key, item]) => [`${name}[${key}]`, String(item)])
    return [[name, String(value)]]
  })
}

describe('the path segment of a project or group', () => {
  it('is its number or its encoded path', () => {
    expect(segmentOf(4711)).toBe('4711')
    expect(segmentOf('harbour/tools/crane')).toBe('harbour%2Ftools%2Fcrane')
    expect(segmentOf('/harbour/crane+1/')).toBe('harbour%2Fcrane%2B1')
  })

  it.each(['', '/', '.', '..'])('cannot be made of %j, which would address something else', id => {
    expect(() => segmentOf(id)).toThrow(PlatformError)
  })

  it.each([-1, 1.5, Number.NaN, 2 ** 60])('cannot be made of %d', id => {
    expect(() => segmentOf(id)).toThrow(PlatformError)
  })
})
