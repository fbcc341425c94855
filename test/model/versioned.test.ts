// Versions of facts: what they begin with can be read back from them.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newestSecondOf, versionOf } from '../../src/model/versioned.ts'
import { runs } from '../full.ts'

it('returns the second of a version, with or without a fraction', () => {
  const second = fc.oneof(
    fc.nat(999_999_999_999),
    fc.nat(99_999).map(whole => whole + 0.25),
  )
  fc.assert(
    fc.property(second, fc.nat(), (newest, rank) => {
      expect(newestSecondOf(versionOf(newest, rank, 'webhook'))).toBe(newest)
    }),
    runs(1_000),
  )
})
