// Tests the figures about runners: how many jobs ran concurrently, how long jobs waited, and which jobs no runner can take.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { longWaitFixes } from '../../../src/features/runners/console.ts'
import { tagSetFigures, waitingJobs, type RunnerJob } from '../../../src/features/runners/figures.ts'

const hour = 3_600_000
const period = { since: 0, until: 24 * hour, step: hour, now: 24 * hour }
const place = { instance: 'i', projectId: 1, project: 'acme/shop', pipelineId: 7 }

function ran(
  jobId: number,
  startedAt: number,
  finishedAt: number | undefined,
  more: Partial<RunnerJob> = {},
): RunnerJob {
  return {
    ...place,
    jobId,
    name: `job ${jobId}`,
    runnerTags: ['gpu'],
    startedAt,
    finishedAt,
    isPending: false,
    ...more,
  }
}
function waiting(jobId: number, waitMs: number, tags: readonly string[] | undefined): RunnerJob {
  return { ...place, jobId, name: `job ${jobId}`, tags, waitMs, isPending: true }
}

describe('figures for a set of runner tags', () => {
  it('computes the average number of concurrent jobs in each time step, and the maximum number', () => {
    const jobs = [ran(1, 0, hour), ran(2, hour / 2, hour), ran(3, hour, 2 * hour), ran(4, 23 * hour, undefined)]
    const [gpu] = tagSetFigures(jobs, [], period)
    expect(gpu).toMatchObject({ tagSet: 'gpu', jobs: 4, maxBusy: 2, running: 1, pending: 0 })
    expect(gpu?.busy.slice(0, 3)).toEqual([1.5, 1, 0])
    expect(gpu?.busy[23]).toBe(1)
  })

  it('counts a running job only until now, and averages the last step over the time that has passed of it', () => {
    const now = 23 * hour + 6 * 60_000
    const [gpu] = tagSetFigures([ran(1, now - 3 * 60_000, undefined), ran(2, 22 * hour, now)], [], { ...period, now })
    expect(gpu?.busy.slice(22)).toEqual([1, 1.5])
    expect(gpu?.totalMs).toBe(hour + 9 * 60_000)
  })

  it('names the job that waited longest for a runner, and ignores the waits of jobs that started before the period', () => {
    const jobs = [
      ran(1, -hour, hour, { waitMs: 90_000 }),
      ran(2, 1, 2, { waitMs: 5_000 }),
      ran(3, 3, 4, { waitMs: 60_000 }),
    ]
    expect(tagSetFigures(jobs, [], period)[0]).toMatchObject({
      jobs: 2,
      // The median is the mean of the two middle values.
      waitP50Ms: 32_500,
      waitP95Ms: 60_000,
      longest: { jobId: 3, waitMs: 60_000 },
    })
  })

  it("counts the inventory's runners by tags, including tags that no job has", () => {
    const known = [
      { instance: 'i', tags: ['gpu'], state: 'busy' as const },
      { instance: 'i', tags: ['gpu'], state: 'offline' as const },
      { instance: 'i', tags: ['arm'], state: 'available' as const },
    ]
    const found = tagSetFigures([ran(1, 0, hour)], known, period)
    expect(found.map(({ tagSet, runners }) => [tagSet, runners])).toEqual([
      ['gpu', { available: 0, busy: 1, offline: 1 }],
      ['arm', { available: 1, busy: 0, offline: 0 }],
    ])
  })

  it('sums the running time of any jobs within the period', () => {
    const time = fc.integer({ min: -5 * hour, max: 30 * hour })
    fc.assert(
      fc.property(fc.array(fc.tuple(time, time), { minLength: 1, maxLength: 30 }), times => {
        const jobs = times.map(([a, b], n) => ran(n, Math.min(a, b), Math.max(a, b)))
        const within = (at: number): number => Math.min(period.until, Math.max(0, at))
        const total = jobs.reduce(
          (sum, { startedAt = 0, finishedAt = 0 }) => sum + within(finishedAt) - within(startedAt),
          0,
        )
        const [found] = tagSetFigures(jobs, [], period)
        expect(found!.busy.reduce((sum, one) => sum + one * period.step, 0)).toBeCloseTo(total, 0)
        expect(found!.totalMs).toBeCloseTo(total, 0)
        expect(Math.max(...found!.busy)).toBeLessThanOrEqual(found!.maxBusy + 1e-9)
      }),
    )
  })
})

describe('jobs that wait for a runner', () => {
  it('lists the jobs that wait for a runner, longest wait first, and whether a known runner has their tags', () => {
    const jobs = [
      ran(1, 0, hour, { runnerTags: ['docker', 'linux'] }),
      waiting(2, 1_000, ['linux']),
      waiting(3, 3_000, ['windows']),
      waiting(4, 2_000, undefined),
      waiting(5, 500, []),
    ]
    expect(waitingJobs(jobs, []).waiting.map(({ jobId, runner }) => [jobId, runner])).toEqual([
      [3, 'none'],
      [4, 'unknown'],
      [2, 'known'],
      [5, 'known'],
    ])
    const windows = { instance: 'i', tags: ['windows'], state: 'available' } as const
    expect(waitingJobs(jobs, [windows]).waiting[0]?.runner).toBe('known')
    // A runner of another platform cannot take the job.
    expect(waitingJobs(jobs, [{ ...windows, instance: 'j' }]).waiting[0]?.runner).toBe('none')
  })

  it('lists the 100 jobs that have waited longest, and counts all', () => {
    const jobs = Array.from({ length: 150 }, (_, n) => waiting(n, n, n < 20 ? ['windows'] : undefined))
    const { waiting: listed, ...counts } = waitingJobs(jobs, [])
    expect([listed.length, listed.at(-1)?.jobId]).toEqual([100, 50])
    expect(counts).toEqual({ waitingCount: 150, untakeable: 20 })
  })
})

it('computes the weekly cost of waiting for runners from the time that jobs waited beyond a minute', () => {
  const jobs = [0, 11, 22].map((minutes, at) => ran(at, 1, 2, { waitMs: minutes * 60_000 }))
  const [found] = longWaitFixes({ tagSets: tagSetFigures(jobs, [], period), since: 0, until: 24 * hour })
  expect(found).toEqual({
    ...{ subject: 'Runners with tags gpu', weekMs: 7 * 31 * 60_000, path: '/runners' },
    why: '2 of 3 jobs waited longer than 1 m 00 s in the last day; the time is how long they waited beyond that.',
  })
})
