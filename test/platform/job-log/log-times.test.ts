// Tests the times of a log's lines. They never decrease from line to line, even if the clocks behind the timestamps jump.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { KeptLines } from '../../../src/platform/job-log/kept-lines.ts'
import { logLines } from '../../../src/platform/job-log/log-lines.ts'
import { LogReader } from '../../../src/platform/job-log/log-reader.ts'
import { Sections } from '../../../src/platform/job-log/sections.ts'
import { jobStart, jobTimes, marker, stamp } from './read-log.ts'
import { runs } from '../../full.ts'
import type { JobTimes } from '../../../src/platform/job-log/sections.ts'
import type { LogLine } from '../../../src/model/inside.ts'

const redactText = createTextRedaction([])

/** Returns the lines of a log as they are exported. `maxBytes`: the maximum total size of the lines that are kept. */
async function linesOf(
  log: string,
  job: JobTimes = jobTimes,
  maxBytes = 1_000_000,
  isWhole = true,
): Promise<LogLine[]> {
  const sections = new Sections(job)
  const lines = new KeptLines(maxBytes)
  const reader = new LogReader({
    marker: found => sections.marker(found),
    title: text => sections.title(text),
    line: line => {
      if (line.text !== '') lines.add(line, sections.place, sections.stretch)
    },
  })
  reader.feed(Buffer.from(log))
  reader.end()
  const exported = sections.finish(redactText)
  const timesOf = (stretch: number) => sections.timesOf(stretch)
  const of = { lines, timesOf, sections: exported, exported, redactText, readMax: 100, isWhole }
  return (await logLines(of)).flat()
}

/** Returns each line's text with its time in seconds after the start of the job. */
const secondsOf = (lines: readonly LogLine[]) => lines.map(({ text, at }) => [text, (at - jobStart) / 1_000])

function expectOrder(lines: readonly LogLine[]): void {
  const numbers = lines.map(({ number }) => number)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  const times = lines.map(({ at }) => at)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
}

describe('the times of log lines without timestamps', () => {
  it('gives each line without a timestamp a time between the markers around it, also before, between and after sections', async () => {
    const log = readFileSync('test/fixtures/job-logs/unstamped.txt', 'utf8')
    const start = 1_795_883_940_000
    const job = { start, end: start + 70_000, isScriptFailure: true }
    const lines = await linesOf(log, job)
    expectOrder(lines)
    const seconds = new Map(lines.map(({ text, at }) => [text.trim(), (at - start) / 1_000]))
    const first = ['Running with gitlab-runner 16.5.0 (853330f9)', 'on runner-a abcdef12, system ID: s_1']
    expect(lines.slice(0, 2).map(({ text }) => text.trim())).toEqual(first)
    expect(first.map(text => seconds.get(text))).toEqual([3, 6])
    expect(seconds.get('1 passing')).toBeGreaterThan(19)
    expect(seconds.get('1 failing')).toBeLessThan(67)
    expect(lines.at(-1)).toMatchObject({ text: 'ERROR: Job failed: exit code 1', isError: true, estimated: true })
    expect(lines.at(-1)?.at).toBeGreaterThan(start + 68_000)
    expect(lines.at(-1)?.at).toBeLessThan(start + 70_000)
  })

  it('orders lines without timestamps by the times of the sections around them', async () => {
    const outer = [marker('start', 'outer', 10), 'a', marker('start', 'inner', 20), 'b', marker('end', 'inner', 30)]
    const log = ['x', ...outer, 'c', marker('end', 'outer', 40), 'y'].join('\n')
    const seconds = new Map(secondsOf(await linesOf(log)) as [string, number][])
    expect(['x', 'a', 'b', 'c', 'y'].map(text => Math.floor((seconds.get(text) ?? 0) / 10))).toEqual([0, 1, 2, 3, 5])
  })
})

describe('the times of log lines with timestamps', () => {
  it('exports log lines with their own timestamps', async () => {
    const lines = await linesOf(`${stamp(1_000)}a\n${stamp(2_500, '01E ')}b\n`)
    expect(lines.map(({ at, stream, estimated }) => [Math.floor(at - jobStart), stream, estimated])).toEqual([
      ...[
        [1_000, 'stdout', undefined],
        [2_500, 'stderr', undefined],
      ],
    ])
  })

  it("gives a line with an earlier timestamp than the previous line the previous line's time, and marks this time as estimated", async () => {
    const lines = await linesOf([`${stamp(9_000)}a`, `${stamp(4_000)}b`, 'c', `${stamp(9_500)}d`].join('\n'))
    expect(lines.map(({ text, at, estimated }) => [text, Math.floor(at - jobStart), estimated])).toEqual([
      ...[
        ['a', 9_000, undefined],
        ['b', 9_000, true],
        ['c', 9_000, true],
        ['d', 9_500, undefined],
      ],
    ])
  })

  it('derives the times of lines without timestamps from lines with timestamps, even if the lines with timestamps are dropped', async () => {
    const dropped = Array.from({ length: 200 }, (_, nth) => `${stamp(nth * 100)}line ${nth}`)
    const bare = Array.from({ length: 40 }, (_, nth) => `bare ${nth}`)
    const lines = await linesOf([...dropped, ...bare].join('\n'), jobTimes, 1_200)
    expectOrder(lines)
    expect(lines.at(-1)).toMatchObject({ text: 'bare 39', at: jobStart + 19_900.123, estimated: true })
  })
})

it("never lets the times of a log's lines decrease from one line to the next", async () => {
  const seconds = fc.oneof(fc.integer({ min: -20, max: 80 }), fc.integer({ min: -9_000, max: 9_000 }))
  const name = fc.constantFrom('prepare_executor', 'step_script', 'own', 'other')
  const part = fc.oneof(
    fc
      .tuple(fc.constantFrom('start' as const, 'end' as const), name, seconds)
      .map(([edge, of, at]) => marker(edge, of, at)),
    fc.constantFrom('text', 'ERROR: Job failed: exit code 1', '', '\u001b[0Ktext'),
    fc.tuple(seconds, fc.constantFrom('00O ', '01E ', '00O+')).map(([at, kind]) => stamp(at * 1_000, kind)),
  )
  const log = fc.array(
    fc.array(part, { maxLength: 3 }).map(parts => parts.join('')),
    { maxLength: 60 },
  )
  const times = fc.record({
    start: fc.integer({ min: -5_000, max: 5_000 }),
    length: fc.integer({ min: 0, max: 90_000 }),
  })
  await fc.assert(
    fc.asyncProperty(
      log,
      times,
      fc.integer({ min: 64, max: 4_000 }),
      fc.boolean(),
      async (all, { start, length }, maxBytes, isWhole) => {
        const job = { start: jobStart + start, end: jobStart + start + length, isScriptFailure: false }
        const lines = await linesOf(all.join('\n'), job, maxBytes, isWhole)
        expectOrder(lines)
        const isStamped = all.some(line => line.includes('Z 0'))
        if (!isStamped) expect(lines.every(({ at }) => at >= job.start && at <= job.end)).toBe(true)
      },
    ),
    runs(1_000),
  )
})
