// Reads logs of jobs as the daemon does, in a process of its own, and prints what one large log took: a file, repeated until it has so many
// megabytes. For `logs.ts`.
//
//   node [--expose-gc] bench/log-reading.ts sections|lines 100 FILE
import { fstatSync, openSync, readSync } from 'node:fs'
import { createReadLog } from '../src/platform/job-log/read-log.ts'
import { createTextRedaction } from '../src/lib/text-redaction.ts'
import { keepHeapsSmall } from '../src/lib/small-heap.ts'
import type { PlatformClient } from '../src/platform/port.ts'
import type { JobSnapshot } from '../src/model/chunk.ts'

export interface LogReadingFigures {
  /** Of the log. */
  readonly megabytes: number
  readonly perSecond: number
  /** Processor time for each megabyte, ms. */
  readonly cpuMs: number
  /** The highest resident memory above that of a process which has read small logs before, so that its code is compiled; bytes. */
  readonly memory: number
  /** The most that was live at any time above what was before the first log, bytes; undefined without `--expose-gc`. */
  readonly held: number | undefined
  readonly sections: number
  readonly lines: number
}

const [what = 'lines', megabytes = '100', file = ''] = process.argv.slice(2)
const megabyte = 1024 * 1024
const windowBytes = 64 * 1024
/** Of a small log: fewer lines than are kept of a large one. */
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
      // A connection hands windows over one by one, and lets others work in between.
      await new Promise(setImmediate)
      if (live.windows++ % 16 === 0) live.most = Math.max(live.most, liveNow())
      highest = Math.max(highest, process.memoryUsage.rss())
    }
    return { bytes, isWhole: true }
  },
}
const rules = { redactText: createTextRedaction([]), readMax: 2 ** 40, linesMax: megabyte }
const readLog = createReadLog(client, rules)

/** What is live now, in the heap and beside it, bytes: all that is not is collected first, where it may be. */
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
/** Its sections, and its groups of lines. */
async function read(one: JobSnapshot) {
  const found = await readLog(3, one, { sections: true, lines: what === 'lines' }, { priority: 'inside' })
  return { found, lines: what === 'lines' ? await found.lines() : [] }
}

/** The file again and again, without holding more of it than a window. */
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
// Warm: what is measured is a daemon that has read logs before. What the engine takes to compile code, which it does at moments of its own, is
// none of a log's.
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
  // Until here: it is what is live.
  sections: found.sections.length + found.sectionsOmitted,
  lines: lines.flat().length,
}
console.log(JSON.stringify(figures))
