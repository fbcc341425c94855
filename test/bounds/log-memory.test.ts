// Tests that reading job logs takes a bounded amount of memory, whatever their size and shape. The logs are read in a separate process.
import { expect, it } from 'vitest'
import { figuresOf } from '../../bench/logs.ts'
import { isFull, report } from '../e2e/load.ts'

const megabyte = 1024 * 1024

// The size of live objects is the same on every machine. Resident memory depends on when garbage is collected, and therefore on the available
// processor time.
it.each([
  ['of lines', 'build', isFull ? 100 : 8],
  ['of one line', 'one-line', isFull ? 50 : 8],
] as const)('keeps at most 10 MiB of a log %s in memory (%s, %s MB)', (_, shape, megabytes) => {
  const { held, lines } = figuresOf('lines', megabytes, shape, ['--expose-gc'])
  expect(held).toBeGreaterThan(0)
  expect(held).toBeLessThan(10 * megabyte)
  expect(lines).toBeGreaterThan(shape === 'build' ? 1_000 : 0)
  if (isFull) report({ shape, held, lines })
})

it.runIf(isFull)('reads a log of 100 MB with less than 30 MiB of additional resident memory', () => {
  const figures = figuresOf('lines', 100)
  expect(figures.memory).toBeLessThan(30 * megabyte)
  report({ ...figures })
})
