// Tests how projects and groups are named in the URLs of requests.
import { describe, expect, it } from 'vitest'
import { PlatformError } from '../../../src/platform/port.ts'
import { segmentOf } from '../../../src/platform/rest/api.ts'

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
