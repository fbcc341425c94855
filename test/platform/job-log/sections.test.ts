import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { erase, jobStart, jobTimes, marker, readLog, stamp } from './read-log.ts'
import { runs } from '../../full.ts'
import type { Section } from '../../../src/model/inside.ts'

const bold = '\u001b[36;1m'
const off = '\u001b[0;m'

/** Returns the names, parents and times of sections. The times are in seconds after the start of the job. */
function seen(sections: readonly Section[]): (readonly [string, number | undefined, number, number])[] {
  return sections.map(({ name, parent, start, end }) => [
    name,
    parent,
    (start - jobStart) / 1000,
    (end - jobStart) / 1000,
  ])
}

const unstamped = [
  `\u001b[0KRunning with gitlab-runner 16.6.0${off}`,
  `${marker('start', 'prepare_executor', 0)}\u001b[0K${bold}Preparing the "docker" executor${off}${off}`,
  'Using image',
  `${marker('end', 'prepare_executor', 19)}${marker('start', 'prepare_script', 19)}\u001b[0K${bold}Preparing environment${off}`,
  'Running on runner-1',
  `${marker('end', 'prepare_script', 20)}${marker('start', 'step_script', 20)}\u001b[0K${bold}Executing "step_script" stage${off}`,
  `${marker('start', 'my-own.section', 25, '[collapsed=true]')}My own section`,
  'hello',
  marker('end', 'my-own.section', 30),
  marker('end', 'step_script', 50),
  `\u001b[31;1mERROR: Job failed: exit code 1`,
  '',
].join('\n')

const stamped = [
  `${stamp(0)}Running with gitlab-runner 19.3`,
  `${stamp(100)}section_start:1768988840:prepare_executor\r`,
  `${stamp(101, '00O+')}\u001b[0K\u001b[0K${bold}Preparing the "docker" executor${off}`,
  `${stamp(6_500)}section_end:1768988846:prepare_executor\r`,
  `${stamp(6_501, '00O+')}\u001b[0Ksection_start:1768988846:prepare_script\r`,
  `${stamp(6_502, '00O+')}\u001b[0K\u001b[0K${bold}Preparing environment${off}`,
  `${stamp(12_300, '01E ')}a warning`,
  `${stamp(12_400)}section_end:1768988852:prepare_script\r`,
  `${stamp(12_401, '00O+')}\u001b[0K`,
  `${stamp(12_500)}Job succeeded`,
  '',
].join('\n')

describe('the sections of a log', () => {
  it('finds sections by their markers in lines without timestamps, even if a line contains two markers', () => {
    const { sections, lines } = readLog(unstamped)
    expect(seen(sections)).toEqual([
      ['prepare_executor', undefined, 0, 19],
      ['prepare_script', undefined, 19, 20],
      ['step_script', undefined, 20, 50],
      ['my-own.section', 3, 25, 30],
    ])
    expect(sections.map(({ title }) => title)).toEqual([
      'Preparing the "docker" executor',
      'Preparing environment',
      'Executing "step_script" stage',
      'My own section',
    ])
    expect(sections.map(({ kind }) => kind)).toEqual(['runner', 'runner', 'runner', 'custom'])
    expect(new Set(sections.map(({ clock }) => clock))).toEqual(new Set(['marker']))
    expect(lines.map(({ text }) => text).filter(text => text !== '')).toEqual([
      'Running with gitlab-runner 16.6.0',
      'Preparing the "docker" executor',
      'Using image',
      'Preparing environment',
      'Running on runner-1',
      'Executing "step_script" stage',
      'My own section',
      'hello',
      'ERROR: Job failed: exit code 1',
    ])
  })

  it("takes a section's times from the timestamps of its marker lines, with microsecond precision", () => {
    const { sections, lines } = readLog(stamped)
    expect(sections).toMatchObject([
      { name: 'prepare_executor', title: 'Preparing the "docker" executor', clock: 'line' },
      { name: 'prepare_script', title: 'Preparing environment', clock: 'line' },
    ])
    const micros = sections.map(({ start, end }) => [start, end].map(at => Math.round((at - jobStart) * 1000)))
    expect(micros).toEqual([
      [100_123, 6_500_123],
      [6_501_123, 12_400_123],
    ])
    expect(lines.find(({ text }) => text === 'a warning')?.stamp?.stream).toBe('stderr')
  })

  it('finds the same sections in a log, however its bytes are split into windows', () => {
    const word = fc.constantFrom(
      ...['section_', 'start:', 'end:', '1768988841:', 'a', 'b.c', '\r', '\u001b[0K', '\n', 'ä', '\u001b[3', '1m'],
      ...[marker('start', 'a', 1), marker('end', 'a', 2), marker('start', 'step_script', 3), `\n${stamp(9)}`],
      ...[`\n${stamp(10, '00O+')}`, '[k=v]', '🙂', 'x'.repeat(40_000), '\u0000', 'text'],
    )
    const logs = fc.array(word, { maxLength: 40 }).map(words => words.join(''))
    const cuts = fc.array(fc.integer({ min: 1, max: 50_000 }), { maxLength: 30 })
    fc.assert(
      fc.property(logs, fc.boolean(), cuts, (log, isStamped, sizes) => {
        const whole = isStamped ? stamp(0) + log : log
        expect(readLog(whole, jobTimes, sizes)).toEqual(readLog(whole))
      }),
      runs(500),
    )
    const bytes = [unstamped, stamped].map(log => [log, Buffer.byteLength(log)] as const)
    for (const [log, length] of bytes)
      expect(readLog(log, jobTimes, Array<number>(length).fill(1))).toEqual(readLog(log))
  })

  it('finds sections whose markers have no CR, but ignores markers that a script prints', () => {
    const lost = `section_start:${jobStart / 1000}:a\u001b[0KTitle\nsection_end:${jobStart / 1000 + 1}:a\u001b[0K\n`
    expect(seen(readLog(lost).sections)).toEqual([['a', undefined, 0, 1]])
    const reported = `$ echo -e "section_start:${jobStart / 1000}:a\\r\\e[0KTitle"\nsection_start:${jobStart / 1000}:b\nx\n`
    expect(readLog(reported).sections).toEqual([])
  })

  it.each(['\n', '\n\n'])('finds sections if the CR in their markers has become %j', end => {
    const marks = [0, 2].map((at, n) => `section_${n === 0 ? 'start' : 'end'}:${jobStart / 1000 + at}:a${end}\u001b[0K`)
    const log = `before\n${marks[0]}Title\nwithin\n${marks[1]}after\nsection_start:1:b\n\nnext\n`
    for (const sizes of [[], Array<number>(log.length).fill(1)]) {
      const { sections, lines } = readLog(log, jobTimes, sizes)
      expect(seen(sections)).toEqual([['a', undefined, 0, 2]])
      expect(sections[0]?.title).toBe('Title')
      const texts = ['before', 'Title', 'within', 'after', 'section_start:1:b', '', 'next']
      expect(lines.map(({ text }) => text)).toEqual(texts)
    }
    const stamped = marks.map(
      (mark, n) => `${stamp(2_000 * n)}${mark.replace('\u001b', `${stamp(2_000 * n, '00O+')}\u001b`)}x\n`,
    )
    expect(seen(readLog(stamped.join('')).sections)).toEqual([['a', undefined, 0.000123046875, 2.000123046875]])
  })

  it('redacts the names and titles of sections before truncating them', () => {
    const secret = `glpat-${'abcdefghij'.repeat(2)}`
    for (const before of [100, 120, 127, 4_080]) {
      const title = `${'x'.repeat(before - 1)} ${secret} end`
      const { sections } = readLog(`${marker('start', secret, 0)}${title}\n`)
      expect(sections[0]?.name).toBe('[REDACTED]')
      expect(sections[0]?.title).toBe(title.replace(secret, '[REDACTED]').slice(0, 128))
    }
    const many = `${secret} `.repeat(165)
    expect(readLog(`${marker('start', 'a', 0)}${many}\n`).sections[0]?.title).not.toContain('glpat')
  })

  it("accepts section markers whose time is in ms, µs or ns, and uses the previous marker's time instead of a time outside the job", () => {
    const at = jobStart / 1000 + 10
    const log = ['000', '000000', '000000000']
      .map(zeros => `section_start:${at}${zeros}:a${zeros.length}${erase}\n`)
      .join('')
    expect(seen(readLog(log).sections).map(([, , start]) => start)).toEqual([10, 10, 10])
    const odd = `${marker('start', 'a', 5)}\nsection_end:0:a${erase}\nsection_start:99999999999999999999:b${erase}\n`
    expect(seen(readLog(odd).sections)).toEqual([
      ['a', undefined, 5, 5],
      ['b', undefined, 5, 60],
    ])
  })

  it('accepts sections that overlap, stay open, are closed twice, or have the same name as another section', () => {
    const overlapping = [marker('start', 'a', 1), marker('start', 'b', 2), marker('end', 'a', 3), marker('end', 'b', 4)]
    expect(seen(readLog(overlapping.join('\n')).sections)).toEqual([
      ['a', undefined, 1, 3],
      ['b', 1, 2, 3],
    ])
    const odd = [marker('end', 'a', 1), marker('start', 'a', 2), marker('start', 'a', 3), marker('end', 'a', 4)]
    expect(seen(readLog(odd.join('\n')).sections)).toEqual([
      ['a', undefined, 2, 60],
      ['a', 1, 3, 4],
    ])
    expect(seen(readLog([...odd, marker('end', 'a', 5), marker('end', 'a', 6)].join('\n')).sections)).toEqual([
      ['a', undefined, 2, 5],
      ['a', 1, 3, 4],
    ])
  })

  it("keeps at most 200 sections of a log, reserves some of them for the runner's sections, and counts the sections that it drops", () => {
    const many = Array.from(
      { length: 10_000 },
      (_, n) => `${marker('start', `s${n}`, 1)}\n${marker('end', `s${n}`, 2)}`,
    )
    const log = [
      marker('start', 'step_script', 0),
      ...many,
      marker('end', 'step_script', 50),
      marker('start', 'after_script', 51),
    ]
    const { sections, omitted } = readLog(log.join('\n'))
    expect(sections).toHaveLength(172)
    expect(omitted).toBe(10_002 - 172)
    expect(sections.at(-1)).toMatchObject({ ordinal: 10_002, name: 'after_script' })
    const deep = readLog(Array.from({ length: 10_000 }, (_, n) => marker('start', `s${n}`, 1)).join('\n'))
    expect(deep.sections).toHaveLength(170)
  })

  it.each([0, 20, 30, 40])('includes at least 30 runner sections among the 200 if %i of them come first', before => {
    const early = Array.from({ length: before }, (_, n) => marker('start', 'get_sources', n))
    const custom = Array.from({ length: 300 }, (_, n) => marker('start', `s${n}`, 41))
    const late = Array.from({ length: 300 }, () => marker('start', 'upload_artifacts_on_success', 51))
    const { sections, omitted } = readLog([...early, ...custom, ...late].join('\n'))
    const kinds = Object.groupBy(sections, ({ kind }) => kind)
    const runners = Math.max(30, before)
    expect([kinds.runner?.length, kinds.custom?.length]).toEqual([runners, 200 - runners])
    expect(omitted).toBe(before + 600 - 200)
  })

  it('shifts sections into the time span of their job, and reports the shift', () => {
    const { sections } = readLog(
      [marker('start', 'a', -5), marker('end', 'a', 3), marker('start', 'b', 60.5)].join('\n'),
    )
    expect(seen(sections)).toEqual([['a', undefined, 0, 3]])
    expect(sections[0]?.clockShift).toBe(5_000)
  })

  it("marks the script's section and the innermost open section as failed if the script failed", () => {
    const log = [
      ...[marker('start', 'step_script', 1), marker('start', 'outer', 2), marker('start', 'inner', 3)],
      ...[marker('end', 'step_script', 9), marker('start', 'after_script', 10), marker('end', 'after_script', 11)],
      'ERROR: Job failed: exit code 1',
    ].join('\n')
    const failed = (isScriptFailure: boolean): string[] =>
      readLog(log, { ...jobTimes, isScriptFailure }).sections.flatMap(one => (one.failed ? [one.name] : []))
    expect(failed(true)).toEqual(['step_script', 'inner'])
    expect(failed(false)).toEqual([])
  })

  it("omits a section's title if it is a command", () => {
    const log = `${marker('start', 'step_script', 0)}\n${marker('start', 'section_script_step_1', 1, '[hide_duration=true,collapsed=true]')}$ curl -u me:secret\n`
    const step = readLog(log).sections[1]
    expect([step?.kind, step?.title]).toEqual(['script', undefined])
  })

  it('finds sections in binary logs, in logs that end within an escape sequence, and in lines of several megabytes', () => {
    const damaged = Buffer.concat([
      Buffer.from(marker('start', 'a', 1)),
      Buffer.from([0xff, 0xfe, 0xc3, 0x28]),
      Buffer.from('\n\u001b[3'),
    ])
    expect(readLog(damaged).sections.map(({ name }) => name)).toEqual(['a'])
    expect(readLog(damaged).lines.at(-1)?.text).toBe('')
    const line = `${'x'.repeat(2_000_000)}${marker('start', 'a', 1)}${'y'.repeat(2_000_000)}${marker('end', 'a', 2)}`
    const { sections, lines } = readLog(line)
    expect(seen(sections)).toEqual([['a', undefined, 1, 2]])
    expect(lines).toHaveLength(1)
    expect(lines[0]?.text.length).toBeLessThan(100_000)
  })

  it('keeps only the final state of a progress bar in the log', () => {
    const bar = `10%\r20%\r\u001b[32m100%\u001b[0m\r\n${'..'.repeat(30_000)}\rdone\n`
    expect(readLog(bar).lines.map(({ text }) => text)).toEqual(['100%', 'done'])
    const cut = [`${stamp(0)}10%\r`, `${stamp(1, '00O+')}20%\r`, `${stamp(2, '00O+')}100%`, ''].join('\n')
    expect(readLog(cut).lines.map(({ text }) => text)).toEqual(['100%'])
  })
})
