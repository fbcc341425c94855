// Logs of jobs of any size and shape take no more memory than a bound, read in a process of its own.
import { expect, it } from 'vitest'
import { figuresOf } from '../../bench/logs.ts'
import { isFull, report } from '../e2e/load.ts'

const most = 30 * 1024 * 1024

it.each([
  ['of lines', 'build', isFull ? 100 : 20],
  ['of one line', 'one-line', isFull ? 50 : 10],
] as const)('a log %s is read within 30 MiB above idle (%s, %s MB)', (_, shape, megabytes) => {
  // A process that gets little processor time collects its garbage late: what is held for the log itself shows in each of three tries.
  let figures = figuresOf('lines', megabytes, shape)
  for (let more = 2; more > 0 && figures.memory >= most; more -= 1) figures = figuresOf('lines', megabytes, shape)
  expect(figures.memory).toBeLessThan(most)
  expect(figures.lines).toBeGreaterThan(shape === 'build' ? 1_000 : 0)
  if (isFull) report({ shape, ...figures })
})
