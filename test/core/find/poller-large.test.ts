// Tests that the poller finds all pipelines of a large group within its request budget.
import { describe, expect, it } from 'vitest'
import { hour, minute, openPolledWorld, second } from './polled-world.ts'
import { isFull } from '../../full.ts'
import { lastStatus, plan, project, truth } from './polled-pipelines.ts'
import { restFaults } from '../../support/rest-faults.ts'

describe('a group of 10,000 projects', () => {
  it('sends a few requests per round for 10,000 projects while no pipeline runs, and stays within the budget with 50 active projects', async () => {
    const projects = Array.from({ length: 10_000 }, (_, index) => project(index + 1))
    await using world = await openPolledWorld({ projects, poll: { groups: ['acme'] }, perMinute: 300 })
    const sweep = { startedAt: world.now(), since: world.now(), count: 0, before: 10_000, done: false }
    await world.store.repositories.sweeps.put({ ...sweep, instance: world.api.url, group: 'acme' })
    const rounds = isFull ? 10 : 5
    await world.pass(rounds * minute, minute)
    const idle = world.api.asked.length / rounds
    expect(idle).toBeLessThan(12)

    world.api.asked.length = 0
    const began = world.now()
    for (let turn = 0; turn < rounds; turn++) {
      const active = projects.slice(turn * 5, turn * 5 + 50)
      for (const { id } of active) world.api.activity.set(id, world.now())
      for (const one of active.slice(0, 5)) world.lifecycle.create(plan(one))
      await world.pass(minute, 20 * second)
    }
    const asked = world.api.asked.length
    const aboutOne = ({ path }: { path: string }): boolean => /pipelines\/\d+/.test(path)
    const about = world.api.asked.filter(aboutOne).length
    const minutes = (world.now() - began) / minute
    expect(asked / minutes).toBeLessThanOrEqual(300)
    await world.pass(15 * minute, minute)
    const chunks = await world.sent()
    expect(lastStatus(chunks)).toEqual(truth(world))
    expect(world.api.asked.filter(aboutOne).length / chunks.length).toBe(3)
    // Per minute, each active project costs one request for its pipelines and one for its child pipelines, and the sweep adds a few. All other
    // requests are about single pipelines.
    expect((asked - about) / minutes).toBeLessThan(2 * 50 + 12)
  })

  it('finds all pipelines of a large group within the budget, even if the platform responds with 429', async () => {
    const projects = Array.from({ length: 200 }, (_, index) => project(index + 1))
    await using world = await openPolledWorld({ projects, poll: { groups: ['acme'] }, perMinute: 120 })
    let refused = 0
    world.api.misbehave = () => (++refused % 40 === 0 ? restFaults.tooMany(20) : undefined)
    const times: number[] = []
    const push = world.api.asked.push.bind(world.api.asked)
    world.api.asked.push = (...items) => {
      times.push(world.now())
      return push(...items)
    }
    for (const one of projects.slice(0, 20)) {
      world.api.activity.set(one.id, world.now())
      world.lifecycle.create(plan(one))
    }
    await world.pass(hour / 2, 20 * second)
    expect(lastStatus(await world.sent())).toEqual(truth(world))
    // The requests are in chronological order.
    const most = Math.max(
      ...times.map((at, first) => times.findIndex((other, i) => i > first && other >= at + minute) - first),
    )
    expect(most).toBeLessThanOrEqual(120)
  })
})
