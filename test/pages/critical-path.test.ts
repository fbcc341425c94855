import fc from 'fast-check'
import { expect, it } from 'vitest'
import { criticalPath, type Ran } from '../../src/pages/critical-path.ts'

const ran = (id: number, start: number, end: number): Ran => ({ id, start: start * 1_000, end: end * 1_000 })

it('is the chain of jobs that the pipeline waited for', () => {
  const jobs = [ran(1, 0, 60), ran(2, 0, 90), ran(3, 95, 100), ran(4, 95, 140), ran(5, 145, 150)]
  expect(criticalPath(jobs)).toEqual({ ids: [2, 4, 5], busyMs: 140_000 })
})

it('goes through the failed attempt of a job that was retried', () => {
  expect(criticalPath([ran(1, 0, 30), ran(2, 31, 50), ran(3, 55, 80)]).ids).toEqual([1, 2, 3])
})

it('of jobs that ended together names the longest', () => {
  expect(criticalPath([ran(1, 50, 60), ran(2, 0, 60)]).ids).toEqual([2])
})

it('is in order of time, never overlaps by more than a second, and ends with what ended last', () => {
  const jobs = fc
    .array(fc.tuple(fc.nat(500), fc.nat(200)), { maxLength: 25 })
    .map(all => all.map(([start, took], id) => ran(id, start, start + took)))
  fc.assert(
    fc.property(jobs, given => {
      const path = criticalPath(given).ids.map(id => given[id]!)
      expect(path.at(-1)?.end).toBe(given.length === 0 ? undefined : Math.max(...given.map(job => job.end)))
      for (const [index, job] of path.slice(1).entries()) {
        expect(job.start).toBeGreaterThan(path[index]!.start)
        expect(path[index]!.end).toBeLessThanOrEqual(job.start + 1_000)
      }
    }),
  )
})
