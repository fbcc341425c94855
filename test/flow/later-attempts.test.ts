// Tests what is exported of a pipeline that continues after its export: a new attempt, a supplement, or nothing.
import { beforeEach, describe, expect, it } from 'vitest'
import { at, day, event, hour, job, jobEvent, minute, openWorld, reported, rest, type World } from './world.ts'

let world: World
beforeEach(() => {
  world = openWorld()
})

describe('a pipeline that continues after its export', () => {
  const built = job(1, 'build', 'success', { started: 5, finished: 50 })
  const failed = job(2, 'test', 'failed', { started: 51, finished: 59 })
  const skipped = job(3, 'deploy', 'skipped')
  const firstFailure = event('failed', { finishedAt: at(60) }, [built, failed, skipped])
  /** Makes the pipeline fail, and exports its first attempt. */
  async function fail(): Promise<void> {
    await world.observe(firstFailure)
    await world.pass(minute)
    await world.sent()
  }

  it('exports only the new jobs in the second attempt of a pipeline that was canceled and then retried', async () => {
    await world.observe(
      event('canceled', { finishedAt: at(20) }, [job(1, 'build', 'canceled', { started: 5, finished: 20 })]),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 1 canceled [1:canceled]'])
    await world.observe(
      event('running', { finishedAt: at(20) }, [job(9, 'build', 'running', { created: 90, started: 95 })]),
      event('success', { finishedAt: at(130) }, [
        job(9, 'build', 'success', { created: 90, started: 95, finished: 130 }),
      ]),
    )
    await world.pass(minute)
    const [chunk] = await world.sent()
    expect(reported([chunk!])).toEqual(['attempt 2 success [9:success]'])
    expect(chunk!.pipeline).toMatchObject({ start: at(95), end: at(130) })
  })

  it('exports a second span for skipped jobs that run under their old ids after a retry', async () => {
    await world.observe(firstFailure)
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 1 failed [1:success 2:failed 3:skipped]'])
    await world.observe(
      event('success', { finishedAt: at(200) }, [
        built,
        job(12, 'test', 'success', { created: 100, started: 101, finished: 150 }),
        job(3, 'deploy', 'success', { started: 151, finished: 199 }),
      ]),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 success [3:success~2 12:success]'])
  })

  it('neither closes nor renames the new attempt if a failed event arrives late, during the retry', async () => {
    await fail()
    const running = job(12, 'test', 'running', { created: 100, started: 101 })
    await world.observe(event('running', { finishedAt: at(60) }, [built, running, skipped]))
    await world.observe(firstFailure)
    await world.pass(hour)
    expect(await world.sent()).toEqual([])
    await world.observe(
      event('success', { finishedAt: at(150) }, [
        built,
        job(12, 'test', 'success', { created: 100, started: 101, finished: 140 }),
      ]),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 success [12:success]'])
  })

  it("opens a new attempt for a job that is observed before its pipeline, and keeps it open despite the pipeline's old status", async () => {
    await fail()
    await world.observe(jobEvent(job(12, 'test', 'success', { created: 100, started: 101, finished: 140 })))
    await world.pass(hour)
    expect(await world.sent()).toEqual([])
    await world.observe(event('success', { finishedAt: at(150) }, []))
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 success [12:success]'])
  })

  it("counts a pipeline's second finish as an attempt even if no new job is known", async () => {
    await fail()
    await world.observe(event('success', { finishedAt: at(300) }, [built, failed, skipped]))
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 success []'])
  })

  it('ignores a late running event that contains nothing new', async () => {
    await fail()
    await world.observe(event('running', {}, [built]))
    await world.pass(8 * day)
    expect(await world.sent()).toEqual([])
  })

  it('opens a new attempt for a newer REST response with a non-terminal status', async () => {
    await fail()
    await world.observe(rest(event('running', { updatedAt: at(90) }, [])))
    await world.pass(minute)
    expect(await world.sent()).toEqual([])
    await world.observe(rest(event('failed', { finishedAt: at(120), updatedAt: at(121) }, [])))
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 failed []'])
  })

  it('exports nothing again when REST reports a known finish time more precisely', async () => {
    await fail()
    await world.observe(
      rest(event('failed', { finishedAt: at(60) + 735, updatedAt: at(61) }, [built, failed, skipped])),
    )
    await world.pass(8 * day)
    expect(await world.sent()).toEqual([])
  })

  it('exports retried jobs that REST reports late as supplements of their attempt', async () => {
    await fail()
    await world.observe(
      rest(event('failed', { finishedAt: at(60) }, [job(0, 'build', 'failed', { started: 1, finished: 4 })])),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['supplement to 1 [0:failed]'])
  })
})

describe('a bridge that is reset', () => {
  it('exports a second span for a bridge that is reset and runs again under its id', async () => {
    const bridge = { kind: 'bridge' as const }
    await world.observe(
      event('failed', { finishedAt: at(60) }, [job(2, 'trigger', 'failed', { started: 5, finished: 59 }, bridge)]),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 1 failed [2:failed]'])
    await world.observe(
      event('success', { finishedAt: at(160) }, [
        job(2, 'trigger', 'success', { started: 105, finished: 159 }, bridge),
      ]),
    )
    await world.pass(minute)
    expect(reported(await world.sent())).toEqual(['attempt 2 success [2:success~2]'])
  })
})
