import { againstUsual } from '../../src/console/jobs/job.ts'
import { aboutSections, sectionRows, sectionsOf } from '../../src/console/jobs/job-sections.ts'
import { describe, expect, it } from 'vitest'
import { jobPage } from '../../src/console/jobs/job.ts'
import type { JobCard } from '../../src/console/pipelines/job-card.ts'
import type { JobDetail } from '../../src/console/jobs/job-detail.ts'
import type { JobInside, Section } from '../../src/model/inside.ts'

const usual = {
  days: 30,
  branch: 'merge_request',
  pipelineName: '',
  runs: 143,
  failed: 9,
  p50: 60_000,
  p95: 100_000,
} as const

describe("a run compared with its job's usual figures", () => {
  it.each([
    [
      62_000,
      true,
      'This is about as long as usual. It took 1 m 02 s; median ≈ 1 m 00 s, p95 ≈ 1 m 40 s (143 runs on merge requests in',
    ],
    [95_000, true, 'This is longer than the median, but not unusual.'],
    [180_000, true, 'This is unusually long: 3.0 times the median. It took 3 m 00 s;'],
    [20_000, true, 'This is unusually short.'],
    [20_000, false, 'Nothing unusual so far. It has run for 20 s so far;'],
    [180_000, false, 'This is unusually long'],
    [undefined, true, 'This job did not run. Usual duration: median ≈ 1 m 00 s'],
  ])('compares a job that took %s ms with its usual duration (finished: %s)', (took, isOver, description) => {
    expect(againstUsual(usual, took, isOver)).toContain(description)
  })

  it('reports that there are too few runs of the job for a comparison', () => {
    expect(againstUsual({ ...usual, runs: 3 }, 180_000, true)).toContain('Too few runs')
    expect(againstUsual(undefined, 180_000, true)).toContain('is not known')
  })
})

describe('the sections of a job', () => {
  const section = (ordinal: number, more: Partial<Section> = {}): Section => ({
    ...{ ordinal, name: `s${ordinal}`, kind: 'custom', clock: 'line', start: ordinal, end: 100 },
    ...more,
  })
  const inside = (id: number, sections: readonly Section[] | undefined): JobInside => ({
    job: { id, kind: 'job', start: 0, end: 100 },
    sections,
  })
  const place = { projectId: 3, pipelineId: 7, depth: 0 }

  it("shows the nested sections of the job's last run", () => {
    const found = sectionsOf(
      [
        inside(1, [section(9)]),
        inside(1, [section(1), section(2, { parent: 1 }), section(4), section(5, { parent: 2 })]),
        inside(1, undefined),
        inside(2, [section(8)]),
      ],
      1,
    )
    expect(found?.left).toBe(1)
    const rows = found === undefined ? [] : sectionRows(found, place)
    expect(rows.map(({ label, depth }) => [label, depth])).toEqual([
      ['s1', 1],
      ['s2', 2],
      ['s5', 3],
      ['s4', 1],
    ])
    expect(sectionsOf([inside(2, [section(8)])], 1)).toBeUndefined()
  })

  it('shows all sections of a job, even if their nesting is inconsistent', () => {
    const sections = [section(1, { parent: 1 }), section(2, { parent: 77 }), section(3, { parent: 4 }), section(4)]
    const rows = sectionRows({ jobId: 1, start: 0, end: 100, sections, left: 0 }, place)
    expect(rows.map(({ label }) => label).sort()).toEqual(['s1', 's2', 's3', 's4'])
  })

  it('shows how many sections of a job were omitted, and how far their times were moved', () => {
    const sections = [section(1, { clockShift: 4_000, clock: 'marker' })]
    expect(aboutSections({ jobId: 1, start: 0, end: 100, sections, left: 1_200 })).toEqual([
      'At least 1,200 more sections are left out: at most 200 sections are stored for a job, and at most 170 of these can come from its scripts.',
      'Times were shifted by up to 4.0 s to fit the times of the job, because the runner’s clock differs from the platform’s.',
      'Times are whole seconds: the runner does not write timestamps into its log.',
    ])
    expect(aboutSections({ jobId: 1, start: 0, end: 100, sections: [section(1)], left: 0 })).toEqual([])
    const [one] = aboutSections({ jobId: 1, start: 0, end: 100, sections: [section(1)], left: 1 })
    expect(one).toMatch(/^At least 1 more section is left out:/)
  })
})

describe("a job's page", () => {
  const at = Date.parse('2026-06-01T12:00:00Z')
  const job: JobCard = {
    ...{ id: 70, kind: 'job', name: 'unit', stage: 'test', status: 'failed', allowFailure: false, retried: false },
    ...{ createdAt: at, startedAt: at + 5_000, finishedAt: at + 185_000, ranMs: 180_000, queuedMs: 5_000 },
    ...{ url: 'https://git.example.com/acme/shop/-/jobs/70', runner: 'linux-1', failureReason: 'script_failure' },
  }
  const detail: JobDetail = {
    pipeline: {
      ...{ instance: 'https://git.example.com', projectId: 3, pipelineId: 7, project: 'acme/shop', status: 'failed' },
      ...{ changedAt: at, platformNow: at, attempts: 1, branchClass: 'default', countedAs: '' },
    },
    job,
    about: { runnerType: 'instance_type', tags: ['linux'], cost: { amount: 0.25, unit: 'EUR', rate: 'small' } },
    usual,
    history: { runs: [70, 60].map(id => ({ pipelineId: id / 10, job: { ...job, id } })), pipelines: 9 },
    spans: [],
  }
  const reader = {
    ...{ base: '', address: '/pipelines/3/7/jobs/70', query: new URLSearchParams(), now: at + 300_000 },
    ...({ session: false, may: 'all' } as const),
  }
  const text = (): string =>
    jobPage(detail, { links: '', tail: '', noSections: '', legacyName: () => undefined }, reader).content.toString()

  it("shows a job's runner, its cost, its comparison with other runs, its last runs, and a link to the platform", () => {
    const page = text()
    for (const one of [
      'linux-1, instance runner',
      '0.25 EUR (small)',
      'This is unusually long: 3.0 times the median. It took 3 m 00 s',
      'p95 ≈ 1 m 40 s',
      '<strong>#70</strong> <span class="tag">this run</span>',
      'href="/pipelines/3/6/jobs/60"',
      'href="https://git.example.com/acme/shop/-/jobs/70"',
    ]) {
      expect(page).toContain(one)
    }
  })
})
