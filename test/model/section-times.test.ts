// Tests which sections of a job are recorded.
import { describe, expect, it } from 'vitest'
import { sectionTimes } from '../../src/model/section-times.ts'
import type { Section } from '../../src/model/inside.ts'

const section = (ordinal: number, name: string, seconds: number, more: Partial<Section> = {}): Section => ({
  ...{ ordinal, name, kind: 'script', clock: 'line', start: 1_000, end: 1_000 + 1_000 * seconds },
  ...more,
})
const job = (status: string) => ({ id: 1, kind: 'job' as const, name: 'unit', start: 1_000, end: 99_000, status })

describe('the recorded sections of a job', () => {
  it('records the longest sections of a successful job, and adds up the durations of sections with the same name', () => {
    const sections = [
      section(1, 'step_script', 60),
      ...Array.from({ length: 9 }, (_, at) => section(2 + at, `part ${at}`, 1 + at, { parent: 1 })),
      section(11, 'part 0', 30, { parent: 1 }),
    ]
    const times = sectionTimes({ job: job('success'), sections })
    expect(times.map(({ name, tookMs, depth }) => [name, tookMs / 1_000, depth])).toEqual([
      ['step_script', 60, 0],
      ['part 0', 31, 1],
      ...[8, 7, 6, 5, 4, 3].map(at => [`part ${at}`, 1 + at, 1]),
    ])
    expect(times.some(({ failed }) => failed)).toBe(false)
  })

  it("records the sections in which a job failed, except the runner's own, and no sections of a canceled job", () => {
    const sections = [
      section(1, 'upload_artifacts', 9, { kind: 'runner', failed: true }),
      section(2, 'compile', 8),
      section(3, 'unit tests', 7, { failed: true }),
    ]
    expect(sectionTimes({ job: job('failed'), sections })).toEqual([
      { name: 'unit tests', tookMs: 7_000, failed: true, depth: 0 },
    ])
    expect(sectionTimes({ job: job('canceled'), sections })).toEqual([])
  })
})
