// Tests the overview's list of what to fix first: the problems that cost most per week, and the reasons for listing them.
import { describe, expect, it } from 'vitest'
import { createFixFirst, ownSources, ranked } from '../../../src/features/trends/fix-first/view.ts'
import type { CostLine } from '../../../src/features/trends/cost/shape.ts'
import type { FoundFix } from '../../../src/console/overview/overview-shape.ts'
import type { PagesParts } from '../../../src/console/ports.ts'
import type { TrendTotal } from '../../../src/features/trends/counting/figures.ts'

const minute = 60_000
const day = 24 * 60 * minute
const of = { instance: 'i', projectId: 3, project: 'acme/shop' }
const none = { totalMs: 0, cost: 0 }

const job = (name: string, runs: number, failed: number, totalMs: number): TrendTotal => ({
  ...{ ...of, job: name, runs, failed, totalMs, flaky: 0, durations: {}, queues: {} },
})
const line = (superseded: number): CostLine => ({
  ...{ ...of, name: '', runs: 9, ...none },
  wasted: { retried: none, failed: none, superseded: { totalMs: superseded, cost: 2.5 } },
})
const found = (weekMs: number): FoundFix & { kind: string } => ({
  ...{
    kind: 'of_a_feature',
    subject: 'e2e',
    project: of.project,
    of: { instance: of.instance, projectId: of.projectId, job: 'e2e' },
  },
  ...{ weekMs, why: 'It takes longer.', path: '/there' },
})

interface Known {
  readonly jobs?: (by: string) => Promise<readonly TrendTotal[]>
  readonly projects?: readonly CostLine[]
  readonly now?: () => number
}

/** Returns data sources for the pages, with these jobs and projects. `on` returns one object that reads both trends and costs. */
function partsOf({ jobs = async () => [], projects = [], now = () => 10 * day }: Known) {
  const lines = async (by: string): Promise<readonly CostLine[]> => (by === 'project' ? projects : [])
  return { now, fillings: [], on: () => ({ jobs, lines }) } as unknown as PagesParts
}

async function ownOf(parts: PagesParts) {
  const all = await Promise.all(
    ownSources.map(async ({ kind, read }) => (await read(parts, 0, day)).map(one => ({ kind, ...one }))),
  )
  return all.flat()
}

describe('the list of what to fix first', () => {
  it('lists problems by cost, the most expensive one first, each with a reason and a link', async () => {
    const own = await ownOf(
      partsOf({
        jobs: async () => [
          job('lint', 20, 20, 40 * minute),
          job('unit', 100, 60, 900 * minute),
          job('new', 2, 2, 90 * minute),
        ],
        projects: [line(20 * minute)],
      }),
    )
    const fixes = ranked([...own, found(150 * minute)], () => 0.001)
    expect(fixes.map(({ kind, subject, weekMs, path }) => [kind, subject, weekMs / minute, path])).toEqual([
      ['of_a_feature', 'e2e', 150, '/there'],
      ['failing', 'lint', 40, '/trends?project=3&job=lint'],
      ['superseded', 'Superseded pipelines', 20, '/cost?project=3'],
    ])
    expect(fixes.map(({ why }) => why)).toEqual([
      'It takes longer.',
      'Failed in all 20 runs.',
      'Jobs ran for pipelines that were canceled because their branch had a newer pipeline.',
    ])
    expect(fixes.map(({ cost }) => cost)).toEqual([9_000, 2_400, 2.5])
  })

  it('leaves out problems that cost less than a minute, and shows no money without a price table', async () => {
    expect(ranked([found(minute - 1)], undefined)).toEqual([])
    const [fix] = await ownOf(partsOf({ jobs: async () => [job('lint', 20, 19, 40 * minute)] }))
    expect(fix?.why).toBe('Failed in 19 of 20 runs.')
    const free = ranked([found(minute), { ...found(minute), of: undefined, cost: 3 }], undefined)
    expect(free.map(({ cost }) => cost)).toEqual([undefined, undefined])
  })

  it('queries the list of what to fix first at most once a minute', async () => {
    let now = 10 * day
    let reads = 0
    const jobs = async (by: string): Promise<readonly TrendTotal[]> => {
      if (by === 'failing') reads += 1
      return [job(`job ${reads}`, 20, 20, 40 * minute)]
    }
    const fixFirst = createFixFirst(partsOf({ jobs, now: () => now }), undefined)
    const subject = async (): Promise<string | undefined> => (await fixFirst()).fixes[0]?.subject
    expect(await Promise.all([subject(), subject()])).toEqual(['job 1', 'job 1'])
    now += minute - 1
    expect(await subject()).toBe('job 1')
    now += 1
    expect(await subject()).toBe('job 2')
  })
})
