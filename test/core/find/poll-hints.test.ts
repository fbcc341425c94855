// Tests how webhooks and other pipelines tell the poller which projects to read.
import { day, hour, minute, openPolledWorld } from './polled-world.ts'
import { expect, it } from 'vitest'
import { lastStatus, plan, project } from './polled-pipelines.ts'
import { createPollHints } from '../../../src/core/find/poll-hints.ts'
import { restFaults } from '../../support/rest-faults.ts'

const always = (): boolean => true

it('returns the twenty due projects that have waited longest, until they are taken', () => {
  const hints = createPollHints()
  for (let id = 1; id <= 25; id += 1) hints.add(id)
  hints.add(3)
  const first = Array.from({ length: 20 }, (_, at) => at + 1)
  expect(hints.next(always)).toEqual(first)
  expect(hints.next(always)).toEqual(first)
  expect(hints.next(id => id > 20)).toEqual([21, 22, 23, 24, 25])
  for (const id of first) expect(hints.take(id)).toBe(true)
  expect(hints.next(always)).toEqual([21, 22, 23, 24, 25])
  expect(hints.take(1)).toBe(false)
})

it('keeps at most a thousand hints, so that a flood of webhooks cannot exhaust the memory', () => {
  const hints = createPollHints()
  for (let id = 1; id <= 1_500; id += 1) hints.add(id)
  const taken: number[] = []
  for (let some = hints.next(always); some.length > 0; some = hints.next(always)) {
    taken.push(...some.filter(id => hints.take(id)))
  }
  expect(taken).toHaveLength(1_000)
})

it('adds a hint for a project only the first time that a webhook names it', () => {
  const hints = createPollHints()
  hints.remember(7)
  expect(hints.take(7)).toBe(true)
  hints.remember(7)
  expect(hints.next(always)).toEqual([])
})

/** Opens a world in which only a hint leads to the project: it had no recent activity, and the daily sweep has ended. */
async function openHintedWorld(): Promise<Awaited<ReturnType<typeof openPolledWorld>>> {
  const world = await openPolledWorld({ projects: [project(1)], poll: { groups: ['acme'] } })
  const sweep = { startedAt: world.now(), since: world.now(), count: 0, before: 1, done: true }
  await world.store.repositories.sweeps.put({ ...sweep, instance: world.api.url, group: 'acme' })
  return world
}

it('reads a hinted project after an outage of the platform', async () => {
  await using world = await openHintedWorld()
  const { id } = world.lifecycle.create(plan(project(1)))
  world.api.activity.set(1, world.now() - 30 * day)
  world.poller.remember(1)
  world.api.misbehave = () => restFaults.broken()
  await world.pass(minute, minute)
  world.api.misbehave = () => undefined
  await world.pass(hour, minute)
  expect([...lastStatus(await world.sent()).keys()]).toEqual([id])
})

it('looks up a hinted project only once if the token may not see it', async () => {
  await using world = await openHintedWorld()
  world.poller.remember(99)
  for (let round = 0; round < 3; round += 1) await world.poller.round()
  expect(world.api.asked.filter(({ path }) => path === '/projects/99')).toHaveLength(1)
})
