// Tests how releasing the memory of a buffer affects the buffer, and other buffers that share its memory.
import { expect, it } from 'vitest'
import { giveBack } from '../../src/core/send/sender.ts'

it('releases the memory of a whole buffer, but not of a slice that shares it', () => {
  const whole = Buffer.allocUnsafeSlow(40_000)
  giveBack(whole)
  expect(whole).toHaveLength(0)
  giveBack(whole)
  const shared = Buffer.from('one two')
  giveBack(shared.subarray(0, 3))
  expect(shared.toString()).toBe('one two')
})
