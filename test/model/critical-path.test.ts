import fc from 'fast-check'
import { expect, it } from 'vitest'
import { criticalPath, type Ran } from '../../src/model/critical-path.ts'

const ran = (id: number, start: number, end: number): Ran => ({ id, start: start * 1_000, end: end * 1_000 })

it('finds the critical path: the chain of jobs that the pipeline waited for', () => {
  const jobs = [ran(1, 0, 60), ran(2, 0, 90), ran(3, 95, 100), ran(4, 95, 140), ran(5, 145, 150)]
  expect(criticalPath(jobs)).toMatchObject({ ids: [2, 4, 5], busyMs: 140_000 })
})

it('includes only the longest of several jobs that ended simultaneously in the critical path', () => {
  expect(criticalPath([ran(1, 50, 60), ran(2, 0, 60)]).ids).toEqual([2])
})

it('returns the jobs of the critical path in chronological order, with at most a second of overlap, up to the last job of the pipeline', () => {
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

const someJobs = fc
  .array(fc.tuple(fc.nat(120), fc.nat(60)), { minLength: 1, maxLength: 12 })
  .map(all => all.map(([start, took], id) => ran(id, start, start + took)))

it("gives jobs on the critical path no slack, and others at most the time from their end to the pipeline's end", () => {
  fc.assert(
    fc.property(someJobs, given => {
      const { ids, busyMs, slack } = criticalPath(given)
      const finish = Math.max(...given.map(job => job.end))
      for (const id of ids) expect(slack.get(id)).toBe(0)
      for (const { id, end } of given) {
        expect(slack.get(id)).toBeGreaterThanOrEqual(0)
        expect(slack.get(id)).toBeLessThanOrEqual(finish - end)
      }
      // The time in which no job on the critical path runs is the waiting time between these jobs.
      const path = ids.map(id => given[id]!)
      const waited = path.slice(1).reduce((sum, job, at) => sum + (job.start - path[at]!.end), 0)
      expect(busyMs + waited).toBe(finish - path[0]!.start)
    }),
  )
})

/**
 * Returns when the last job ends if the job `slow` takes `more` ms longer. A job may have waited for any job that ended before it started. After the
 * last of these it starts with the same delay as without the change.
 */
function finishWith(jobs: readonly Ran[], slow: number, more: number): number {
  const ends = new Map<number, number>()
  for (const job of jobs.toSorted((a, b) => a.start - b.start)) {
    const before = jobs.filter(({ start, end }) => start < job.start && end <= job.start + 1_000)
    const planned = Math.max(...before.map(({ end }) => end))
    const moved = Math.max(...before.map(({ id }) => ends.get(id)!))
    const late = before.length === 0 ? 0 : moved - planned
    ends.set(job.id, job.end + late + (job.id === slow ? more : 0))
  }
  return Math.max(...ends.values())
}

it("computes a job's slack as exactly the additional time that it may take without delaying the pipeline", () => {
  fc.assert(
    fc.property(someJobs, fc.nat(11), (given, which) => {
      const { id } = given[which % given.length]!
      const slack = criticalPath(given).slack.get(id)!
      const finish = Math.max(...given.map(job => job.end))
      expect(finishWith(given, id, slack)).toBe(finish)
      expect(finishWith(given, id, slack + 500)).toBe(finish + 500)
    }),
  )
})

it('computes the critical path as fast as sorting, even if all jobs ran concurrently', () => {
  const jobs = Array.from({ length: 40_000 }, (_, id) => ran(id, id % 7, (id % 7) + 1))
  expect(criticalPath(jobs).slack.size).toBe(40_000)
})
