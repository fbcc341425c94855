// Tests the verdict on a finished job: its parts, and its sentence.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jobVerdict } from '../../src/model/verdict.ts'
import { verdictSentence } from '../../src/model/verdict-sentence.ts'

describe('the verdict on a job', () => {
  const ended = { status: 'success', startedAt: 40_000, finishedAt: 160_000, queuedDuration: 40 }
  const sentenceOf = (of: Parameters<typeof jobVerdict>[0]): string | undefined => {
    const verdict = jobVerdict(of)
    return verdict && verdictSentence(verdict)
  }

  it("names a job's wait for a runner, and its sections", () => {
    const section = (name: string, from: number, to: number) => ({ name, start: from * 1_000, end: to * 1_000 })
    expect(sentenceOf(ended)).toBe('2 m 40 s: 2 m 00 s running, 40 s waiting for a runner')
    const sections = [section('npm ci', 50, 90), section('npm test', 90, 158)]
    expect(sentenceOf({ ...ended, sections })).toBe(
      '2 m 40 s: 1 m 08 s in section npm test, 40 s waiting for a runner, 40 s in section npm ci, 12 s running',
    )
  })

  it("compares a job's duration and wait with the usual ones", () => {
    expect(sentenceOf({ ...ended, usual: { ms: 60_000, queueMs: 5_000 } })).toBe(
      '1 m 35 s slower than usual: 1 m 00 s more running, 35 s more waiting for a runner',
    )
    expect(sentenceOf({ ...ended, usual: { ms: 60_000, queueMs: 80_000 } })).toBe(
      '20 s slower than usual: 1 m 00 s more running, 40 s less waiting for a runner',
    )
    expect(sentenceOf({ ...ended, usual: { ms: 60_000 } })).toBe('1 m 00 s slower than usual: 1 m 00 s more running')
    expect(sentenceOf({ ...ended, usual: { ms: 120_000, queueMs: 38_000 } })).toBe('as usual')
  })

  it('names the reason why a job failed', () => {
    const failed = { ...ended, status: 'failed', failureReason: 'script_failure' }
    expect(sentenceOf({ ...failed, failedIn: 'npm test', tests: { total: 812, failed: 2, flaky: 2 } })).toBe(
      'failed: 2 of 812 tests, both flaky before',
    )
    expect(sentenceOf({ ...failed, failedIn: 'npm test' })).toBe('failed in section npm test after 2 m 40 s')
    expect(sentenceOf({ ...failed, failureReason: 'job_execution_timeout' })).toBe('failed: job execution timeout')
  })

  it('returns no verdict on a job that never ran or is still running', () => {
    expect(jobVerdict({ status: 'canceled' })).toBeUndefined()
    expect(jobVerdict({ ...ended, status: 'running' })).toBeUndefined()
  })

  it("returns parts whose sum is exactly the job's duration", () => {
    const time = fc.double({ min: 0, max: 100_000, noNaN: true })
    const maybe = fc.option(time, { nil: undefined })
    const given = fc.record({
      status: fc.constantFrom('success', 'failed', 'canceled'),
      ...{ startedAt: time, finishedAt: time, queuedDuration: maybe },
      usual: fc.option(fc.record({ ms: maybe, queueMs: maybe }), { nil: undefined }),
      sections: fc.array(fc.record({ name: fc.string(), start: time, end: time }), { maxLength: 6 }),
    })
    fc.assert(
      fc.property(given, of => {
        const verdict = jobVerdict(of)!
        expect(verdict.parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(verdict.ms)
      }),
    )
  })
})
