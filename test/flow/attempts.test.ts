// Tests which attempts and supplements of a pipeline are exported, and when.
import { beforeEach, describe, expect, it } from 'vitest'
import { at, day, event, job, jobEvent, minute, openWorld, second, t0, reported, type World } from './world.ts'

let world: World
beforeEach(() => {
  world = openWorld()
})

describe('a pipeline that finishes', () => {
  it('writes a finished pipeline to the outbox once, when it has not changed for the settle delay', async () => {
    const finish = event('success', { finishedAt: at(60) }, [job(1, 'build', 'success', { started: 5, finished: 50 })])
    await world.observe(event('running', {}, [job(1, 'build', 'running', { started: 5 })]), finish)
    await world.pass(4 * second)
    expect(await world.sent()).toEqual([])
    await world.pass(2 * second)
    const [chunk] = await world.sent()
    expect(reported([chunk!])).toEqual(['attempt 1 success [1:success]'])
    expect(chunk!.pipeline).toMatchObject({ start: t0, end: at(60), finishedAt: at(60), incomplete: false })
    await world.observe(finish, finish)
    await world.pass(day)
    expect(await world.sent()).toEqual([])
  })

  it('waits for an active job until the deadline, then exports the pipeline without it, and exports the job when it ends', async () => {
    const bridge = { kind: 'bridge' as const }
    await world.observe(
      event('success', { finishedAt: at(60) }, [
        job(1, 'build', 'success', { started: 5, finished: 50 }),
        job(2, 'downstream', 'running', { started: 50 }, bridge),
      ]),
    )
    await world.pass(100 * second)
    expect(await world.sent()).toEqual([])
    await world.pass(30 * second)
    expect(reported(await world.sent())).toEqual(['attempt 1 success [1:success]'])
    await world.observe(jobEvent(job(2, 'downstream', 'success', { started: 50, finished: 300 }, bridge)))
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['supplement to 1 [2:success]'])
    await world.pass(8 * day)
    expect(await world.sent()).toEqual([])
  })

  it('exports the jobs of a finished pipeline whose status only a newer platform knows', async () => {
    const ended = job(2, 'test', 'warned', { started: 5, finished: 40 })
    await world.observe(event('success', { finishedAt: at(60) }, [ended]))
    await world.pass(5 * second)
    const [chunk] = await world.sent()
    expect(reported([chunk!])).toEqual(['attempt 1 success [2:warned]'])
    expect(chunk!.jobs[0]).toMatchObject({ start: at(5), end: at(40) })
    // Without a finish time the job may be active, so the pipeline waits for it.
    await world.observe(event('success', { finishedAt: at(60) }, [job(3, 'scan', 'vetoed')], {}, 8))
    await world.pass(minute)
    expect(await world.sent()).toEqual([])
    await world.pass(2 * minute)
    expect(reported(await world.sent())).toEqual(['attempt 1 success [3:vetoed]'])
  })

  it('does not wait for an active job that was superseded by a newer job of the same name', async () => {
    await world.observe(
      event('success', { finishedAt: at(60) }, [
        job(1, 'build', 'pending'),
        job(2, 'build', 'success', { started: 5, finished: 50 }),
      ]),
    )
    await world.pass(6 * second)
    expect(reported(await world.sent())).toEqual(['attempt 1 success [2:success]'])
  })

  it('exports a pipeline together with its jobs that never ran', async () => {
    await world.observe(
      event('failed', { finishedAt: at(60) }, [
        job(1, 'build', 'failed', { started: 5, finished: 50 }),
        job(2, 'test', 'skipped'),
        job(3, 'deploy', 'manual'),
        job(4, 'report', 'created'),
        job(5, 'late', 'canceled', { finished: 20 }),
      ]),
    )
    await world.pass(6 * second)
    const [chunk] = await world.sent()
    expect(chunk!.jobs.map(({ id, start, end }) => [id, start, end])).toEqual([
      [1, at(5), at(50)],
      [2, at(60), at(60)],
      [3, at(60), at(60)],
      [4, at(60), at(60)],
      [5, at(20), at(20)],
    ])
  })
})

describe('a pipeline from an external CI system', () => {
  const external = { source: 'external' }

  it('exports only the pipeline span of an external pipeline, without its listed jobs and without waiting for them', async () => {
    const jobs = [job(1, 'build', 'failed', { started: 5, finished: 50 }), job(2, 'late', 'running', { started: 50 })]
    await world.observe(event('failed', { finishedAt: at(60) }, jobs, external))
    await world.pass(6 * second)
    const [chunk, ...others] = await world.sent()
    expect([reported([chunk!]), others]).toEqual([['attempt 1 failed []'], []])
    expect(chunk!.pipeline).toMatchObject({ jobCount: 0, failures: [], end: at(60) })
    await world.observe(
      jobEvent(job(2, 'late', 'success', { started: 50, finished: 59 })),
      jobEvent(job(3, 'new', 'success', { created: 100, started: 100, finished: 110 })),
    )
    await world.pass(8 * day)
    expect(await world.sent()).toEqual([])
  })

  it('exports an external pipeline without its jobs even if the jobs were observed first', async () => {
    await world.observe(jobEvent(job(1, 'build', 'success', { started: 5, finished: 50 })))
    await world.observe(event('success', { finishedAt: at(60) }, [], external))
    await world.pass(6 * second)
    expect(reported(await world.sent())).toEqual(['attempt 1 success []'])
  })

  it("exports the jobs of an external pull request's pipeline, because they run on the platform", async () => {
    const jobs = [job(1, 'build', 'success', { started: 5, finished: 50 })]
    await world.observe(event('success', { finishedAt: at(60) }, jobs, { source: 'external_pull_request_event' }))
    await world.pass(6 * second)
    expect(reported(await world.sent())).toEqual(['attempt 1 success [1:success]'])
  })
})

describe('a pipeline that does not finish', () => {
  const built = job(1, 'build', 'success', { started: 5, finished: 50 })

  it('exports a pipeline that is blocked by a manual job, and exports its continuation a day later as the next attempt', async () => {
    await world.observe(event('manual', {}, [built, job(2, 'deploy', 'manual')]))
    await world.pass(59 * minute)
    expect(await world.sent()).toEqual([])
    await world.pass(2 * minute)
    const [chunk] = await world.sent()
    expect(reported([chunk!])).toEqual(['attempt 1 manual incomplete [1:success 2:manual]'])
    expect(chunk!.pipeline).toMatchObject({ start: t0, end: at(50) })
    await world.pass(day)
    expect(await world.sent()).toEqual([])
    const [started, finished] = [86_400, 86_500]
    await world.observe(
      event('running', {}, [built, job(2, 'deploy', 'running', { started })]),
      event('success', { finishedAt: at(finished) }, [built, job(2, 'deploy', 'success', { started, finished })]),
    )
    await world.pass(minute)
    const [second] = await world.sent()
    expect(reported([second!])).toEqual(['attempt 2 success [2:success~2]'])
    expect(second!.pipeline).toMatchObject({ start: at(started), end: at(finished) })
  })

  it('starts attempt 2 of a successful pipeline when a manual job is played a day later', async () => {
    await world.observe(event('success', { finishedAt: at(51) }, [built, job(2, 'deploy', 'manual')]))
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 1 success [1:success 2:manual]'])
    const [started, finished] = [86_400, 86_500]
    await world.observe(
      event('success', { finishedAt: at(finished) }, [built, job(2, 'deploy', 'success', { started, finished })]),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 success [2:success~2]'])
  })

  it('exports a pipeline as incomplete, with its running jobs, when no more observations of it arrive', async () => {
    await world.observe(event('running', {}, [built, job(2, 'test', 'running', { started: 55 })]))
    await world.pass(6 * day)
    expect(await world.sent()).toEqual([])
    await world.pass(2 * day)
    expect(reported(await world.sent())).toEqual(['attempt 1 running incomplete [1:success 2:running]'])
    await world.pass(30 * day)
    expect(await world.sent()).toEqual([])
  })

  it('never exports a pipeline that is known only from job events', async () => {
    await world.observe(jobEvent(built))
    await world.pass(30 * day)
    expect(await world.sent()).toEqual([])
  })
})

describe('pipelines with thousands of jobs', () => {
  it('exports a pipeline with thousands of jobs in numbered chunks that contain every job once and the pipeline once', async () => {
    const jobs = Array.from({ length: 1_234 }, (_, n) =>
      job(n + 1, `job ${n}`, 'success', { started: 5, finished: 50 }),
    )
    await world.observe(event('success', { finishedAt: at(60) }, jobs))
    await world.pass(minute)
    const chunks = await world.sent()
    expect(chunks.map(chunk => [chunk.number, chunk.jobs.length])).toEqual([
      [1, 500],
      [2, 500],
      [3, 234],
    ])
    expect(new Set(chunks.flatMap(chunk => chunk.jobs.map(({ id }) => id))).size).toBe(1_234)
  })
})
