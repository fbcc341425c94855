// Tests the verdict on a finished pipeline: its parts, and its sentence.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pipelineVerdict, type JudgedRun } from '../../src/model/verdict.ts'
import { maxSentence, verdictSentence } from '../../src/model/verdict-sentence.ts'
import type { JudgedJob } from '../../src/model/verdict-parts.ts'
import { durationsIn } from './sentence-figures.ts'

interface Times {
  readonly from: number
  readonly to: number
  readonly queued?: number
}

/** Returns a job. Its times are given in seconds. */
function job(id: number, name: string, { from, to, queued }: Times, more: Partial<JudgedJob> = {}): JudgedJob {
  return {
    ...{ id, name, status: 'success', retried: false, startedAt: from * 1_000, finishedAt: to * 1_000 },
    ...{ queuedDuration: queued, ...more },
  }
}

function run(took: number, jobs: readonly JudgedJob[], more: Partial<JudgedRun> = {}): JudgedRun {
  return { status: 'success', start: 0, end: took * 1_000, jobs, ...more }
}

const usualOf = (took: number, jobs: readonly JudgedJob[]): JudgedRun['usual'] => ({
  ms: took * 1_000,
  run: { start: 0, end: took * 1_000, jobs },
})

function sentence(of: JudgedRun): string | undefined {
  const verdict = pipelineVerdict(of)
  return verdict && verdictSentence(verdict)
}

const failedBefore = { status: 'failed', retried: true } as const

describe('the verdict on a pipeline', () => {
  const usual = usualOf(150, [
    job(1, 'build', { from: 5, to: 75, queued: 5 }),
    job(2, 'test', { from: 80, to: 140, queued: 5 }),
  ])

  it('names the time that a pipeline spent waiting for a retry, and the failed attempt', () => {
    const jobs = [
      job(1, 'build', { from: 5, to: 100, queued: 5 }),
      job(2, 'test', { from: 105, to: 140, queued: 5 }, failedBefore),
      job(3, 'test', { from: 197, to: 262, queued: 2 }),
    ]
    const verdict = pipelineVerdict(run(267, jobs, { usual }))
    expect(verdict).toMatchObject({ outcome: 'slower', ms: 117_000 })
    expect(verdict?.parts.slice(0, 3)).toEqual([
      { kind: 'retry', name: 'test', times: 1, ms: 57_000 },
      { kind: 'failed_attempt', name: 'test', times: 1, ms: 35_000 },
      { kind: 'ran', name: 'build', times: 1, ms: 25_000 },
    ])
    expect(sentence(run(267, jobs, { usual }))).toBe(
      '1 m 57 s slower than usual: 57 s waiting for a retry of test, 35 s in its failed attempt, 25 s more in build',
    )
  })

  it("explains how a pipeline's time was spent if its usual duration is unknown", () => {
    const jobs = [job(1, 'build', { from: 40, to: 170, queued: 40 }), job(2, 'test', { from: 172, to: 250, queued: 2 })]
    expect(sentence(run(252, jobs))).toBe('4 m 12 s: 2 m 10 s in build, 1 m 18 s in test, 42 s waiting for a runner')
  })

  it('does not explain a difference from the usual duration if there is no run of the usual duration to compare with', () => {
    const jobs = [job(1, 'build', { from: 5, to: 65, queued: 5 })]
    const verdict = pipelineVerdict(run(65, jobs, { usual: { ms: 150_000 } }))
    expect(verdict).toMatchObject({ ms: -85_000, parts: [{ kind: 'other', ms: -85_000 }] })
    expect(verdict && verdictSentence(verdict)).toBe('1 m 25 s faster than usual')
  })

  it('names the whole duration of a job that ran in only one of the two pipelines', () => {
    const build = job(1, 'build', { from: 0, to: 60 })
    const both = [build, job(2, 'lint', { from: 60, to: 100 })]
    const parts = (of: JudgedRun) => pipelineVerdict(of)?.parts
    expect(parts(run(60, [build], { usual: usualOf(100, both) }))).toEqual([
      { kind: 'ran', name: 'lint', times: 1, ms: -40_000 },
    ])
    expect(parts(run(100, both, { usual: usualOf(60, [build]) }))).toEqual([
      { kind: 'ran', name: 'lint', times: 1, ms: 40_000 },
    ])
  })

  it('explains how much of the difference in duration is due to more or less work running in parallel', () => {
    const of = (a: number): JudgedJob[] => [
      ...[job(1, 'build', { from: 0, to: 60 }), job(2, 'a', { from: 60, to: a })],
      ...[job(3, 'b', { from: 60, to: 189 }), job(4, 'deploy', { from: Math.max(a, 189), to: Math.max(a, 189) + 20 })],
    ]
    expect(sentence(run(322, of(302), { usual: usualOf(209, of(160)) }))).toBe(
      '1 m 53 s slower than usual: 2 m 22 s more in a, 29 s less as more ran in parallel',
    )
    expect(sentence(run(209, of(160), { usual: usualOf(322, of(302)) }))).toBe(
      '1 m 53 s faster than usual: 2 m 22 s less in a, 29 s more as less ran in parallel',
    )
  })

  it('adds up the parts that a verdict does not name: those that took longer than usual, and those that took less', () => {
    const chain = (...seconds: number[]): JudgedJob[] => {
      let at = 0
      return seconds.map((took, id) => job(id, 'abcdefgh'[id]!, { from: at, to: (at += took) }))
    }
    const before = chain(100, 100, 100, 100, 100, 100, 100, 100)
    const ofChain = (...seconds: number[]): string | undefined => {
      const jobs = chain(...seconds)
      const took = seconds.reduce((sum, one) => sum + one, 0)
      return sentence(run(took, jobs, { usual: usualOf(800, before) }))
    }
    expect(ofChain(300, 50, 160, 130, 140, 80, 75, 100)).toBe(
      '3 m 55 s slower than usual: 3 m 20 s more in a, 1 m 00 s more in c, 50 s less in b, 1 m 10 s more in e and d, 45 s less in g and f',
    )
    expect(ofChain(130, 130, 130, 130, 130, 130, 130, 130)).toBe(
      '4 m 00 s slower than usual: 30 s more in a, 30 s more in b, 30 s more in c, 2 m 30 s more in 5 other jobs',
    )
    expect(sentence(run(800, before))).toBe(
      '13 m 20 s: 1 m 40 s in a, 1 m 40 s in b, 1 m 40 s in c, 8 m 20 s in 5 other jobs',
    )
    expect(ofChain(4_100, 60, 60, 60, 60, 60, 60, 60)).toBe(
      '1 h 02 m slower than usual: 1 h 06 m more in a, 4 m 40 s less in 7 other jobs',
    )
  })

  it('names the jobs in which a pipeline failed, and whether the failed tests had been flaky before', () => {
    const failed = (id: number, name: string, failureReason = 'script_failure'): JudgedJob =>
      job(id, name, { from: 0, to: 9 }, { status: 'failed', failureReason })
    const tests = (total: number, count: number, flaky?: number) => ({
      tests: new Map([[1, { total, failed: count, flaky }]]),
    })
    const of = (more: Partial<JudgedRun>, ...jobs: JudgedJob[]) =>
      sentence(run(252, jobs, { status: 'failed', ...more }))
    const unit = failed(1, 'unit tests')
    expect(of(tests(812, 2, 2), unit)).toBe('failed in unit tests: 2 of 812 tests, both flaky before')
    expect(of(tests(1_812, 3, 3), unit)).toBe('failed in unit tests: 3 of 1,812 tests, all flaky before')
    expect(of(tests(812, 3, 1), unit)).toBe('failed in unit tests: 3 of 812 tests, 1 of them flaky before')
    expect(of(tests(812, 1, 1), unit)).toBe('failed in unit tests: 1 of 812 tests, flaky before')
    expect(of(tests(812, 1), unit)).toBe('failed in unit tests: 1 of 812 tests')
    expect(of({}, unit)).toBe('failed in unit tests after 4 m 12 s')
    expect(of({}, failed(1, 'build', 'runner_system_failure'))).toBe('failed in build: runner system failure')
    expect(of({})).toBe('failed after 4 m 12 s')
    expect(of({ end: 0 })).toBe('failed at once')
    expect(of(tests(812, 2, 2), unit, failed(2, 'lint'))).toBe(
      'failed in unit tests (2 of 812 tests, both flaky before) and lint',
    )
    const many = ['a', 'b', 'c', 'd', 'e'].map((name, at) => failed(at, name))
    expect(of({}, ...many)).toBe('failed in a, b, c and 2 more jobs')
  })

  it.each(['running', 'manual', 'skipped', 'created'])(
    'returns no verdict on a pipeline with the status %s',
    status => {
      expect(pipelineVerdict(run(20, [], { status }))).toBeUndefined()
    },
  )

  it("returns parts whose sum is exactly the pipeline's duration, or its difference from the usual duration", () => {
    const jobs = fc
      .array(
        fc.record({
          name: fc.constantFrom('build', 'test', 'lint', undefined),
          status: fc.constantFrom('success', 'failed', 'canceled', 'running'),
          retried: fc.boolean(),
          startedAt: fc.option(fc.double({ min: 0, max: 90_000, noNaN: true }), { nil: undefined }),
          finishedAt: fc.option(fc.double({ min: 0, max: 120_000, noNaN: true }), { nil: undefined }),
          queuedDuration: fc.option(fc.double({ min: -1, max: 90, noNaN: true }), { nil: undefined }),
        }),
        { maxLength: 12 },
      )
      .map(all => all.map((one, id) => ({ id, ...one })))
    const status = fc.constantFrom('success', 'failed', 'canceled')
    const start = fc.double({ min: 0, max: 60_000, noNaN: true })
    const end = fc.double({ min: 0, max: 100_000, noNaN: true })
    const usual = fc.option(
      fc.record({
        ms: fc.double({ min: 0, max: 200_000, noNaN: true }),
        run: fc.option(fc.record({ start, end, jobs }), { nil: undefined }),
      }),
      { nil: undefined },
    )
    fc.assert(
      fc.property(fc.record({ status, start, end, jobs, usual }), given => {
        const verdict = pipelineVerdict(given)!
        const from = Math.round(given.start)
        const spent = Math.max(0, Math.round(given.end) - from)
        const isCompared = given.usual !== undefined && given.status === 'success'
        const { ms = 0, run: other } = given.usual ?? {}
        const usualMs = other ? Math.max(0, Math.round(other.end) - Math.round(other.start)) : Math.round(ms)
        expect(verdict.ms).toBe(isCompared ? spent - usualMs : spent)
        expect(verdict.parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(verdict.ms)
        if (!isCompared) expect(verdict.parts.every(({ ms }) => ms > 0)).toBe(true)
        expect(verdictSentence(verdict)).not.toMatch(/undefined|NaN/)
      }),
    )
  })
})

/**
 * Generates pipelines of up to four stages. The jobs of a stage run in parallel, and a stage starts when the previous one has ended. The times are in
 * seconds.
 */
const stages = fc.array(
  fc.array(fc.tuple(fc.integer({ min: 1, max: 2_000 }), fc.nat(60)), { minLength: 1, maxLength: 4 }),
  {
    ...{ minLength: 1, maxLength: 4 },
  },
)

function pipelineOf(lengths: readonly (readonly (readonly [number, number])[])[], unit: number): JudgedRun {
  let [at, id] = [0, 0]
  const jobs: JudgedJob[] = []
  for (const [stage, some] of lengths.entries()) {
    const starts = at
    for (const [index, [took, queued]] of some.entries()) {
      const from = starts + queued * unit
      jobs.push(job((id += 1), `stage ${stage} job ${index}`, { from, to: from + took * unit, queued: queued * unit }))
      at = Math.max(at, from + took * unit)
    }
  }
  return run(at, jobs)
}

describe('the sentence of a verdict', () => {
  it('explains at least nine tenths of a difference in duration, and leaves out at most a tenth of the longer or the shorter parts', () => {
    fc.assert(
      fc.property(stages, stages, fc.constantFrom(1, 0.1, 7.3), fc.boolean(), (own, other, unit, isSame) => {
        // The earlier run has either the same jobs with other durations, or additional jobs as well.
        const before = pipelineOf(other, unit)
        const same = other.map((some, at) => some.map((one, index) => own[at]?.[index] ?? one))
        const given = pipelineOf(isSame ? same : own, unit)
        const verdict = pipelineVerdict({ ...given, usual: { ms: before.end - before.start, run: before } })!
        if (verdict.outcome === 'usual') return
        const text = verdictSentence(verdict)
        const figures = durationsIn(text.split(': ')[1] ?? '')
        // The figures in the sentence are rounded, so the comparison allows for rounding errors.
        const rounding = figures.length * (text.includes(' h ') && !/ h \d\d m \d\d s/.test(text) ? 30_000 : 500)
        const sum = figures.reduce((all, one) => all + one, 0)
        expect(Math.abs(sum - verdict.ms)).toBeLessThanOrEqual(Math.abs(verdict.ms) / 10 + rounding)
        for (const sign of [-1, 1]) {
          const of = (some: readonly number[]): number =>
            some.filter(one => one * sign > 0).reduce((all, one) => all + one, 0)
          const parts = verdict.parts.filter(({ kind }) => kind !== 'runner').map(({ ms }) => ms)
          const waits = verdict.parts.filter(({ kind }) => kind === 'runner').reduce((all, { ms }) => all + ms, 0)
          expect(Math.abs(of(figures) - of([...parts, waits]))).toBeLessThanOrEqual(
            Math.abs(verdict.ms) / 10 + rounding,
          )
        }
      }),
    )
  })

  it("explains all but a tenth of a run's time if no usual run is known", () => {
    fc.assert(
      fc.property(stages, own => {
        const verdict = pipelineVerdict(pipelineOf(own, 1))!
        const sum = durationsIn(verdictSentence(verdict).split(': ')[1] ?? '').reduce((all, one) => all + one, 0)
        expect(Math.abs(sum - verdict.ms)).toBeLessThanOrEqual(
          verdict.ms / 10 + 150_000 * Number(verdict.ms >= 3_600_000),
        )
      }),
    )
  })

  it('truncates the sentence of a verdict to 500 characters, at the end of a word', () => {
    const jobs = [1, 2, 3].map(id =>
      job(id, `${id} ${'word '.repeat(60).trim()}`, { from: 0, to: 9 }, { status: 'failed' }),
    )
    const text = sentence(run(9, jobs, { status: 'failed' })) ?? ''
    expect(text.length).toBeGreaterThan(maxSentence - 10)
    expect(text.length).toBeLessThanOrEqual(maxSentence)
    expect(text).toMatch(/ word…$/)
  })
})
