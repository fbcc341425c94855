import { describe, expect, it } from 'vitest'
import { createFairTurns, fairGroupOf } from '../../../src/core/find/fair-turns.ts'
import { minute, openPolledWorld, type PolledWorld } from './polled-world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import type { SimProject } from '../../../src/simulator/platform/world.ts'

function projectsOf(group: string, count: number, firstId: number): SimProject[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `p${index}`
    return { id: firstId + index, name, path: `${group}/${name}`, description: '', defaultBranch: 'main' }
  })
}

const busy = projectsOf('busy', 400, 1)
const quiet = Array.from({ length: 499 }, (_, index) => projectsOf(`quiet-${index}`, 1, 1_000 + index)).flat()

/** Starts a pipeline whose jobs, in three stages, each run for this many seconds. */
function start(world: PolledWorld, project: SimProject, seconds: number): number {
  const plan = scenarios.small(new Random(project.id))
  const jobs = plan.jobs.map(job => ({ ...job, seconds: [seconds, seconds] as const, fails: [] }))
  world.api.activity.set(project.id, world.now())
  return world.lifecycle.create({ ...plan, project, jobs }).id
}

interface Delays {
  /** The number of rounds until each pipeline was found. `ended`: the number of rounds until its end was found. */
  readonly found: number[]
  readonly ended: number[]
}

/** In every round, starts a three-minute pipeline in each of ten quiet groups. Returns how long it took to find them. */
async function delaysOf(world: PolledWorld, quietOnes: readonly SimProject[], rounds: number): Promise<Delays> {
  const waiting = new Map<number, { project: number; since: number }>()
  const running = new Map<number, { project: number; since?: number }>()
  const delays: Delays = { found: [], ended: [] }
  for (let round = 0; round < rounds; round += 1) {
    if (round < rounds - 10) {
      for (const project of quietOnes.slice(round * 10, (round + 1) * 10))
        waiting.set(start(world, project, 60), { project: project.id, since: round })
    }
    await world.pass(minute, minute)
    for (const [id, { project, since }] of waiting) {
      if ((await activeIn(world, project)) === undefined) continue
      delays.found.push(round - since)
      waiting.delete(id)
      running.set(id, { project })
    }
    for (const [id, one] of running) {
      if (world.lifecycle.state.pipelines.get(id)?.status !== 'success') continue
      one.since ??= round
      if ((await activeIn(world, one.project))?.includes(id) === true) continue
      delays.ended.push(round - one.since)
      running.delete(id)
    }
  }
  const left = [...waiting.values(), ...running.values()].map(() => Infinity)
  return { ...delays, ended: [...delays.ended, ...left] }
}

/** The pipelines in a project that the poller has stored as active; undefined if it has found none. */
async function activeIn(world: PolledWorld, project: number): Promise<readonly number[] | undefined> {
  const known = await world.store.repositories.polledProjects.get({ instance: world.api.url, project })
  return known?.active.map(([id]) => id)
}

describe('one busy group among 499 quiet groups', () => {
  it.each([
    ['the projects of a token', { memberProjects: true }, '', 0],
    ['a group with subgroups', { groups: ['org'] }, 'org/', 0],
    // Each round reads 90 lists of active projects, with one request each.
    ['500 named groups', { groups: ['busy', ...quiet.map((_, index) => `quiet-${index}`)] }, '', 10],
  ])('finds the ends of pipelines in quiet groups at most one round late, in %s', async (_, poll, root, maxFound) => {
    const projects = [...busy, ...quiet].map(one => ({ ...one, path: root + one.path }))
    await using world = await openPolledWorld({ projects, poll, enrich: false })
    for (const project of projects.slice(0, busy.length)) start(world, project, 36_000)
    // The busy group's projects alone need four times as many requests as a round may send.
    await world.pass(10 * minute, minute)
    const delays = await delaysOf(world, projects.slice(busy.length), 30)
    expect(Math.max(...delays.ended)).toBeLessThanOrEqual(1)
    expect(Math.max(...delays.found)).toBeLessThanOrEqual(maxFound)
    expect(delays.found).toHaveLength(200)
  })
})

describe('how the poller takes turns among groups', () => {
  const begin = createFairTurns<string>(item => item.slice(0, 1))

  it('polls a few projects of each group in turn, however many projects the group has', () => {
    const queue = begin(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3', 'c1'])
    const taken = Array.from({ length: 10 }, () => queue.take())
    expect(taken).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'a3', 'a4', 'b3', 'a5', undefined])
  })

  it("delays a group's next project after one with many pages, but only while other groups are waiting", () => {
    const first = begin(['a1'])
    first.charge(first.take() ?? '', 9)
    const others = Array.from({ length: 10 }, (_, index) => `b${index}`)
    const queue = begin(['a2', 'a3', ...others])
    const taken = Array.from({ length: 12 }, () => queue.take())
    expect(taken.indexOf('a2')).toBe(8)

    const debtor = begin(['a4'])
    debtor.charge(debtor.take() ?? '', 500)
    expect(begin(['a5']).take()).toBe('a5')
  })
})

describe('the group to which a project is assigned for polling', () => {
  it.each([
    ['the first group of its path', [], 'team/sub/app', 'team'],
    ['itself, if it is named by its ID', [], '4711', '4711'],
    ['the first group below the only named one', ['org'], 'org/team/sub/app', 'org/team'],
    ['the only named group, if it is directly in it', ['org'], 'org/app', 'org'],
    ['the longest of several named groups', ['org', 'org/team'], 'org/team/sub/app', 'org/team'],
  ])('assigns a project for polling to %s', (_, groups, path, group) => {
    expect(fairGroupOf(groups)(path)).toBe(group)
  })
})
