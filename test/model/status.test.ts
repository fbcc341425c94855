// Tests how statuses are classified.
import { expect, it } from 'vitest'
import { isRunning } from '../../src/model/status.ts'

it.each([
  ['running', true],
  ['canceling', true],
  ['pending', false],
  ['success', false],
  [undefined, false],
])('decides for the status %s whether the job occupies a runner', (status, expected) => {
  expect(isRunning(status)).toBe(expected)
})
