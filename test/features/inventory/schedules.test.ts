// Tests the pipeline schedules collector: its gauges, and the events that it reports once.
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { day, hour, minute, openInventoryWorld, type InventoryWorld } from './world.ts'
import { grace, judge } from '../../../src/platform/inventory/schedules.ts'
import { restJson } from '../../support/rest-faults.ts'

const shop = 'brightwater/shop/storefront'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})

/** Returns a platform with one schedule, which the test modifies. */
function schedule() {
  const one = {
    ...{ id: 7, description: 'nightly', ref: 'main', cron: '0 * * * *', cron_timezone: 'UTC', active: true },
    next_run_at: new Date(world.now() + 30 * minute).toISOString(),
    owner: { username: 'mira', state: 'active' },
    last_pipeline: { id: 1, status: 'success' } as object | null,
  }
  world.api.misbehave = ({ path }) => {
    const { last_pipeline: _, ...listed } = one
    if (path.endsWith('/pipeline_schedules')) return restJson([listed])
    return path.endsWith('/pipeline_schedules/7') ? restJson(one) : undefined
  }
  return one
}

describe('the schedules collector', () => {
  it('reports the number of schedules, when each is due, and how its last pipeline ended', async () => {
    await world.inventory({ schedules: [shop] }).turn()
    expect(await world.found()).toMatchObject({
      'platform.schedule.count true': 2,
      'platform.schedule.count false': 1,
      'platform.schedule.next_run 21 Nightly build': { until: world.now() + 5 * hour },
      'platform.schedule.last_run 21 Nightly build': { since: world.now() - 19 * hour },
      'platform.schedule.last_result 21 Nightly build success': 1,
      'platform.schedule.age 23 Old load test': { since: world.now() - 90 * day },
    })
  })

  it('reports once that a schedule was due but started no pipeline', async () => {
    const one = schedule()
    const inventory = world.inventory({ schedules: [shop] })
    await world.pass(inventory, 40 * minute)
    expect(world.events).toEqual([])
    one.next_run_at = new Date(world.now() + 50 * minute).toISOString()
    await world.pass(inventory, 40 * minute)
    expect(
      world.events.map(({ event }) => [event.name, event.severity, event.attributes['vcs.ref.head.name']]),
    ).toEqual([['platform.schedule.missed', 'warn', 'main']])
  })

  it('reports no missed due time if the schedule has a pipeline for it, was changed, or is inactive', async () => {
    const one = schedule()
    const inventory = world.inventory({ schedules: [shop] })
    await world.pass(inventory, 20 * minute)
    one.last_pipeline = { id: 2, status: 'running' }
    one.next_run_at = new Date(world.now() + 30 * minute).toISOString()
    await world.pass(inventory, 20 * minute)
    one.cron = '30 * * * *'
    one.next_run_at = new Date(world.now() + 60 * minute).toISOString()
    await world.pass(inventory, 40 * minute)
    one.active = false
    await world.pass(inventory, 2 * hour)
    expect(world.events).toEqual([])
  })

  it("reports no missed due time if the token may not see the schedule's last pipeline", async () => {
    const one = schedule()
    const listed = world.api.misbehave
    world.api.misbehave = (request, real) =>
      request.path.endsWith('/7') ? restJson({ message: '403 Forbidden' }, 403) : listed(request, real)
    const inventory = world.inventory({ schedules: [shop] })
    await world.pass(inventory, 3 * hour)
    expect(one.active).toBe(true)
    expect(world.events).toEqual([])
  })

  it("reports once that a schedule's owner is blocked, and again after a new block", async () => {
    const one = schedule()
    one.next_run_at = new Date(world.now() + 5 * day).toISOString()
    const inventory = world.inventory({ schedules: [shop] })
    for (const state of ['blocked', 'blocked', 'active', 'blocked']) {
      one.owner = { username: 'mira', state }
      await world.pass(inventory, 20 * minute)
    }
    expect(world.events.map(({ event }) => event.name)).toEqual([
      'platform.schedule.owner_blocked',
      'platform.schedule.owner_blocked',
    ])
    expect(new Set(world.events.map(({ key }) => key)).size).toBe(2)
  })
})

describe('schedules that are read at random times', () => {
  it('reports each missed due time of a schedule at most once, and never a due time that has a pipeline', () => {
    const look = fc.record({ after: fc.integer({ min: 1, max: 60 }), ran: fc.boolean() })
    fc.assert(
      fc.property(fc.array(look, { maxLength: 60 }), looks => {
        let now = 0
        let pipeline = 1
        let due = 30 * minute
        let unfulfilled = due
        let memory: Parameters<typeof judge>[1]
        const reported: string[] = []
        for (const { after, ran } of looks) {
          now += after * minute
          while (due <= now) {
            unfulfilled = ran ? Infinity : Math.min(unfulfilled, due)
            if (ran) pipeline += 1
            due += hour
          }
          const found = { id: 1, active: true, cron: 'c', next_run_at: due, last_pipeline: { id: pipeline } }
          const judged = judge(found, memory, now, true)
          memory = judged.memory
          reported.push(...judged.events.map(({ key }) => key))
          if (judged.events.length > 0)
            expect(now).toBeGreaterThanOrEqual(Math.min(unfulfilled, now) + (unfulfilled === Infinity ? 0 : grace))
        }
        expect(new Set(reported).size).toBe(reported.length)
      }),
    )
  })
})
