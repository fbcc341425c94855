// Measures how much memory and time it takes to read a large job log.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryFolder } from './processes.ts'
import type { LogReadingFigures } from './log-reading.ts'
import type { Question } from './question.ts'

/** Maximum accepted memory above the idle level, MiB. */
const asked = 30

export const logs: Question = {
  id: 'logs',
  name: 'memory above the idle level while the sections and lines of a large job log are read',
  against: 'the accepted maximum',
  asked: { atMost: 1 },
  unit: 'MiB',
  times: { full: 5, quick: 2 },
  terms: quick =>
    `${megabytes(quick)} MB of timestamped, coloured lines of about 150 bytes, with a section for every 5,000 lines, read from memory in windows of ` +
    "64 KiB. The first and last lines, 1 MiB in all, are kept and redacted. Measured in a separate process with the daemon's heap settings.",
  rounds: async function* (quick) {
    for (;;) {
      const [lines, sections] = (['lines', 'sections'] as const).map(what => figuresOf(what, megabytes(quick)))
      if (lines === undefined || sections === undefined) throw new Error('nothing was measured')
      const seen = `with lines ${speedOf(lines)}; sections alone ${speedOf(sections)}, ${(sections.memory / 2 ** 20).toFixed(0)} MiB`
      yield { ours: lines.memory / 2 ** 20, rival: asked, seen }
    }
  },
}

/** Reads a log in a separate process. `shape`: a log of many lines, or one endless line. `options`: command-line options of Node. */
export function figuresOf(
  what: 'lines' | 'sections',
  size: number,
  shape: 'build' | 'one-line' = 'build',
  options: readonly string[] = [],
): LogReadingFigures {
  using folder = temporaryFolder()
  const file = path.join(folder.path, 'log')
  const lines = Array.from({ length: 40_000 }, (_, index) => lineOf(index + 1)).join('')
  writeFileSync(file, shape === 'build' ? lines : 'x'.repeat(lines.length))
  const script = path.join(import.meta.dirname, 'log-reading.ts')
  const output = execFileSync(process.execPath, [...options, script, what, String(size), file], { encoding: 'utf8' })
  return JSON.parse(output) as LogReadingFigures
}

/** A line as printed by a build, with a timestamp and colours. There are 5,000 lines per section. */
function lineOf(number: number): string {
  const start = Date.parse('2026-01-21T09:47:20Z')
  const at = new Date(start + number).toISOString().replace('Z', '123Z')
  const seconds = start / 1_000
  if (number % 5_000 === 1) return `${at} 00O section_start:${seconds}:part_${number}\r\u001b[0KPart ${number}\n`
  if (number % 5_000 === 4_999) return `${at} 00O section_end:${seconds}:part_${number - 4_998}\r\u001b[0K\n`
  const text = `[${number}/900000] Compiling src/main/java/com/acme/shop/cart/Cart${number}.java -> target/classes`
  return `${at} 0${number % 2}${number % 7 === 0 ? 'E' : 'O'} \u001b[32m${text}\u001b[0m (${(number * 7919) % 1000} ms)\n`
}

function megabytes(quick: boolean): number {
  return quick ? 24 : 100
}

function speedOf({ perSecond, cpuMs }: LogReadingFigures): string {
  return `${perSecond.toFixed(0)} MB/s, ${cpuMs.toFixed(0)} ms of processor time per MB`
}
