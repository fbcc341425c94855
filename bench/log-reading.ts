// Reads job logs as the daemon does, in a separate process, and prints the time and memory that one large log took. The log is a file repeated up to
// the given number of megabytes. Used by `logs.ts`.
//
//   node [--expose-gc] bench/log-reading.ts sections|lines 100 FILE
import { fstatSync, openSync, readSync } from 'node:fs'
import { createReadLog } from '../src/platform/job-log/read-log.ts'
import { createTextRedaction } from '../src/lib/text-redaction.ts'
import { keepHeapsSmall } from '../src/lib/small-heap.ts'
import type { PlatformClient } from '../src/platform/port.ts'
import type { JobSnapshot } from '../src/model/chunk.ts'

export interface LogReadingFigures {
  /** Size of the log, MB. */
  readonly megabytes: number
  readonly perSecond: number
  /** Processor time per megabyte of the log, ms. */
  readonly cpuMs: number
  /**
   * The growth of the resident memory in bytes while the large log was read. The baseline is a process that has already read small logs, so that its
   * code is compiled.
   */
  readonly memory: number
  /** The growth of all live objects in bytes since before the first log; undefined without `--expose-gc`. */
  readonly held: number | undefined
  readonly sections: number
  readonly lines: number
}

const [what = 'lines', megabytes = '100', file = ''] = process.argv.slice(2)
const megabyte = 1024 * 1024
const windowBytes = 64 * 1024
/** Size of a small log, bytes. A small log has fewer lines than the daemon keeps of a large log. */
const smallBytes = 32 * 1024
const start = Date.parse('2026-01-21T09:47:20Z')
const log = openSync(file, 'r')
const fileBytes = fstatSync(log).size

keepHeapsSmall(undefined)
let highest = 0
const live = { before: 0, most: 0, windows: 0 }
const client: Pick<PlatformClient, 'jobLog'> = {
  jobLog: async (_project, jobId, { onWindow }) => {
    let bytes = 0
    const whole = jobId === large.id ? Number(megabytes) * megabyte : smallBytes
    for (const window of windows(whole)) {
      onWindow(window)
      bytes += window.length
      // A connection delivers one window of bytes at a time, and other work may run in between.
      await new Promise(setImmediate)
      if (live.windows++ % 16 === 0) live.most = Math.max(live.most, liveNow())
      highest = Math.max(highest, process.memoryUsage.rss())
    }
    return { bytes, isWhole: true }
  },
}
const rules = { redactText: createTextRedaction([]), readMax: 2 ** 40, linesMax: megabyte }
const readLog = createReadLog(client, rules)

/** The size of all live objects, on and off the heap, bytes. If possible, garbage is collected first. */
function liveNow(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const job = (id: number): JobSnapshot => ({
  ...{ id, kind: 'job', name: 'build', status: 'success', retried: false, allowFailure: false },
  ...{ start, end: start + 3_600_000 },
})
const large = job(2)
/** Reads the sections and the line groups of a job's log. */
async function read(one: JobSnapshot) {
  const found = await readLog(3, one, { sections: true, lines: what === 'lines' }, { priority: 'inside' })
  return { found, lines: what === 'lines' ? await found.lines() : [] }
}

/** Yields the repeated file in windows of bytes. Only one window is in memory at a time. */
function* windows(bytes: number): Generator<Uint8Array> {
  const buffer = Buffer.alloc(windowBytes)
  for (let left = bytes; left > 0;) {
    const begin = (bytes - left) % fileBytes
    const taken = readSync(log, buffer, 0, Math.min(windowBytes, left), begin)
    yield buffer.subarray(0, taken)
    left -= taken
  }
}

live.before = liveNow()
// Small logs are read before the measurement, because a running daemon has already read logs. Otherwise the memory that the engine uses to compile
// code would be attributed to the large log.
for (let count = 0; count < 200; count += 1) await read(job(1))
const idle = process.memoryUsage.rss()
highest = 0
const cpu = process.cpuUsage()
const began = performance.now()
const { found, lines } = await read(large)
const seconds = (performance.now() - began) / 1_000
const { user, system } = process.cpuUsage(cpu)
highest = Math.max(highest, process.memoryUsage.rss())
live.most = Math.max(live.most, liveNow())
const figures: LogReadingFigures = {
  megabytes: Number(megabytes),
  perSecond: Number(megabytes) / seconds,
  cpuMs: (user + system) / 1_000 / Number(megabytes),
  memory: Math.max(0, highest - idle),
  held: globalThis.gc === undefined ? undefined : live.most - live.before,
  // The results are used here to keep them alive until the end of the measurement.
  sections: found.sections.length + found.sectionsOmitted,
  lines: lines.flat().length,
}
console.log(JSON.stringify(figures))
