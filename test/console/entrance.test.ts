// Tests where people are redirected after a login.
import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ownAddress } from '../../src/console/access/entrance.ts'
import { isFull, runs } from '../full.ts'
import { binaryText } from '../support/binary-text.ts'

describe('the redirect after a login', () => {
  it('leads to a path on the same host that is valid in a header, whatever path was requested', () => {
    fc.assert(
      fc.property(fc.oneof(binaryText(), fc.webUrl(), fc.webPath({ size: isFull ? 'large' : 'small' })), tail => {
        for (const next of [tail, `/${tail}`, `//${tail}`, `/\\${tail}`, `/x?y=${tail}`]) {
          const address = ownAddress(next)
          expect(() => validateHeaderValue('location', address)).not.toThrow()
          expect(new URL(address, 'http://pipespan.example').host).toBe('pipespan.example')
          expect(address).toMatch(/^\/(?!\/)/)
        }
      }),
      runs(200),
    )
  })

  it.each([undefined, null, ['/a', '/b'], { a: '/' }, 7])('leads to the overview if %j was requested', next => {
    expect(ownAddress(next)).toBe('/')
  })
})
