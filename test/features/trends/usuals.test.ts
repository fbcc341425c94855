import { describe, expect, it } from 'vitest'
import { binOf } from '../../../src/lib/log-bins.ts'
import { beside, isUnusual, type Usual } from '../../../src/console/pipelines/usual.ts'
import { createUsuals } from '../../../src/features/trends/usuals.ts'
import { day } from '../../../src/features/trends/counting/figures.ts'
import { delta, longer } from '../../../src/console/layout/delta.ts'
import { openingSpan } from '../../../src/console/layout/trend-spans.ts'
import type { BranchClass } from '../../../src/model/pipeline.ts'
import type { TrendViews } from '../../../src/features/trends/counting/figures.ts'

type Row = Awaited<ReturnType<TrendViews['ofJobs']>>[number]

const asked = {
  instance: 'https://git.example.com',
  projectId: 3,
  branchClass: 'merge_request',
  countedAs: 'Checks',
} as const

function row(job: string, branch: BranchClass, runs: number, bin: number, pipelineName = ''): Row {
  const figures = { runs, failed: 1, flaky: 0, totalMs: 0, durations: { [bin]: runs }, queues: {} }
  return { instance: asked.instance, projectId: 3, project: 'acme/shop', job, branch, pipelineName, ...figures }
}

describe('the usual duration of a pipeline or job', () => {
  it('computes the usual duration from runs of the same branch class, or of all classes if that class has too few runs', async () => {
    const stored = [
      row('unit', 'merge_request', 40, 100),
      row('unit', 'default', 400, 140),
      row('e2e', 'merge_request', 4, 100),
      row('e2e', 'default', 400, 140),
    ]
    const usuals = createUsuals({ ofJobs: async (_, jobs) => stored.filter(({ job }) => jobs.includes(job)) }, () => 0)
    const found = await usuals.of(asked, ['unit', 'e2e', 'new'])
    expect(found.get('unit')).toMatchObject({ branch: 'merge_request', runs: 40, failed: 1 })
    expect(found.get('e2e')).toMatchObject({ runs: 404 })
    expect(found.get('e2e')?.branch).toBeUndefined()
    expect(found.get('e2e')?.p50).toBeGreaterThan(found.get('unit')?.p50 ?? 0)
    expect(found.has('new')).toBe(false)
  })

  it('computes the usual duration from pipelines of the same name if there are enough of them', async () => {
    const stored = [row('', 'merge_request', 30, 100, 'Checks'), row('', 'merge_request', 300, 140, 'Review app')]
    const usuals = createUsuals({ ofJobs: async () => stored }, () => 0)
    const of = async (countedAs: string): Promise<Usual | undefined> =>
      (await usuals.of({ ...asked, countedAs }, [''])).get('')
    expect(await of('Checks')).toMatchObject({ runs: 30, pipelineName: 'Checks', branch: 'merge_request' })
    expect(await of('Review app')).toMatchObject({ runs: 300, pipelineName: 'Review app' })
    expect(await of('Seldom')).toMatchObject({ runs: 330, branch: 'merge_request' })
  })

  it('prefers runs of the same name on all branches to runs of other names, and shows whether the usual duration covers all names', async () => {
    const stored = [
      row('', 'merge_request', 300, 60, 'Checks'),
      ...[row('', 'default', 40, 180, 'Nightly'), row('', 'merge_request', 2, 180, 'Nightly')],
      row('', 'tag', 4, 140, 'Release'),
    ]
    const usuals = createUsuals({ ofJobs: async () => stored }, () => 0)
    const of = async (countedAs: string): Promise<Usual | undefined> =>
      (await usuals.of({ ...asked, countedAs }, [''])).get('')
    expect(await of('Nightly')).toMatchObject({ runs: 42, pipelineName: 'Nightly' })
    expect(await of('Release')).toMatchObject({ runs: 4, pipelineName: 'Release' })
    const ofAll = await of('New')
    expect(ofAll?.pipelineName).toBeUndefined()
    expect(String(beside(1_000, ofAll))).toMatch(/>usually ≈ .*>, of 302 runs of all pipeline names</s)
    expect(String(beside(1_000, await of('Nightly')))).not.toContain('all pipeline names')
  })

  it('shows the usual duration with no more precision than it was computed with', async () => {
    const took = (4 * 60 + 27) * 1_000
    const stored = [row('', 'merge_request', 4, binOf(took), 'Checks')]
    const usuals = createUsuals({ ofJobs: async () => stored }, () => 0)
    const usual = (await usuals.of(asked, [''])).get('')
    expect(usual?.p50).toBe(270_000)
    expect(String(beside(took, usual))).toContain('usually ≈ 4 m 30 s')
  })

  it('caches the usual duration instead of querying it for every page view', async () => {
    let now = 0
    const questions: (readonly string[])[] = []
    const usuals = createUsuals(
      {
        ofJobs: async (_, jobs) => {
          questions.push(jobs)
          return []
        },
      },
      () => now,
    )
    await usuals.of(asked, ['', 'unit'])
    await usuals.of(asked, ['', 'unit', 'lint'])
    now += day
    await usuals.of(asked, [''])
    expect(questions).toEqual([['', 'unit'], ['lint'], ['']])
  })

  it("shows the usual duration next to a run's duration, with the multiple of the median if the run's duration is unusual", () => {
    const usual: Usual = {
      days: 30,
      branch: 'default',
      pipelineName: '',
      runs: 50,
      failed: 0,
      p50: 60_000,
      p95: 90_000,
    }
    expect(beside(70_000, usual)?.toString()).not.toContain('class="long"')
    expect(beside(300_000, usual)?.toString()).toMatch(
      /class="long"[^>]*>5\.0×<.*usually\s+≈ 1 m 00 s.*p95 ≈ 1 m 30 s/s,
    )
    expect(beside(300_000, usual)?.toString()).toContain('of 50 runs in 30 days on the default branch')
    expect([isUnusual(300_000, { ...usual, runs: 5 }), beside(300_000, { ...usual, runs: 2 })]).toEqual([false, ''])
  })
})

describe('the change of a figure since the previous period', () => {
  const [many, few] = [
    [400, 380],
    [400, 12],
  ] as const
  it.each([
    [120, 100, 'less', { runs: many }, 'worse', '▲', '20 %'],
    [80, 100, 'less', { runs: many }, 'better', '▼', '20 %'],
    [80, 100, 'neutral', { runs: many }, '', '▼', '20 %'],
    [0.05, 0.02, 'less', { runs: many, unit: 'points' }, 'worse', '▲', '3.0 points'],
    [102, 100, 'less', { runs: many }, '', '→', 'unchanged'],
    // Two percentiles may differ by 8 % even if nothing has changed. Sums are exact, so the same difference between sums is a change.
    [108, 100, 'less', { runs: many }, '', '▲', '8 %'],
    [108, 100, 'less', { runs: many, isExact: true }, 'worse', '▲', '8 %'],
    // A change between a few runs may be due to chance, so it has no colour and shows the number of runs.
    [300, 100, 'less', { runs: few }, '', '▲', '200 % <span class="dim">(400 after 12 runs)'],
    [0.9, 0.1, 'less', { runs: few, unit: 'points' }, '', '▲', '80 points <span class="dim">(400 after 12 runs)'],
  ] as const)(
    "renders the change to %d from %d (better: %s; options: %j) with the class '%s'",
    (now, before, better, options, tone, arrow, description) => {
      const shown = String(delta(now, before, better, options))
      expect(shown).toMatch(new RegExp(`class="delta ${tone}"|class="delta" title="Unchanged`))
      expect(shown).toContain(arrow)
      expect(shown).toContain(description)
    },
  )

  it('shows no change without a previous period', () => {
    const options = { runs: many }
    const all = [
      delta(1, undefined, 'less', options),
      delta(undefined, 1, 'less', options),
      delta(1, 0, 'less', options),
    ]
    expect(all).toEqual(['', '', ''])
  })

  it('shows a change without a colour if the usual duration is computed from only a few runs', () => {
    expect(String(longer(60_000, 60_000, 1.1, 50))).toMatch(/delta worse"\s*>\+1 m 00 s<\/span/)
    expect(String(longer(60_000, 60_000, 1.1, 4))).toMatch(/delta "\s*>\+1 m 00 s <span class="dim">\(of 4 runs\)/)
    expect(String(longer(5_000, 60_000, 1.1, 50))).toContain('delta "')
  })
})

describe('the default period of the trends page', () => {
  const now = 1_000 * day + 7 * 3_600_000
  it.each([
    ['with a month where nothing is known', undefined, '30d'],
    ['with a day where all began today', { first: 1_000, last: 1_000 }, '24h'],
    ['with a week where all began this week', { first: 996, last: 1_000 }, '7d'],
    ['with a month where there is more', { first: 700, last: 1_000 }, '30d'],
    ['with more where the last is older', { first: 700, last: 940 }, '90d'],
    ['with a year where it is older still', { first: 100, last: 300 }, '1y'],
  ] as const)('opens the trends page %s', (_, extent, span) => {
    expect(openingSpan(extent && { first: extent.first * day, last: extent.last * day }, now)).toBe(span)
  })
})
