// Measures the cost of durability: the same load, alternately with the store on a disk and with the store in memory. Also measures what the store
// costs per pipeline: processor time, kilobytes written to the disk, and kilobytes in the file.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { defaultBacklog, sendAll } from './full-load.ts'
import { finishes } from './hooks.ts'
import { processorMs, startDaemon, startServer, temporaryFolder } from './processes.ts'
import type { Question } from './question.ts'

/** The folder where Linux mounts an in-memory file system. */
const memoryFolder = '/dev/shm'
const slices = 4

/** The throughput under load, and the costs per pipeline. */
interface Cost {
  readonly perSecond: number
  readonly cpuMs: number
  /** Kilobytes that the daemon wrote to storage per pipeline, for each slice of the load. They are 0 on an in-memory file system. */
  readonly writtenKB: readonly number[]
  /** By how many kilobytes per pipeline the store's file has grown. */
  readonly storedKB: number
}

export const durable: Question = {
  id: 'durable',
  name: 'finished pipelines taken in and exported per second, with the store on a disk',
  against: 'the same with the store in memory',
  asked: { atLeast: 0.7 },
  unit: 'pipelines/s',
  times: { full: 2, quick: 1 },
  terms: quick =>
    `${quick ? '1,000' : '28,000'} finished pipelines of 20 jobs, two of which deploy (24.6 KB), starting with an empty store. At most ` +
    `${defaultBacklog(quick).toLocaleString('en')} are accepted but not yet exported. Settle delay 0; only traces. Written: what the daemon wrote to the disk per ` +
    'pipeline, in four slices of the load. Stored: the growth of the file per pipeline.',
  rounds: async function* (quick) {
    if (!existsSync(memoryFolder))
      throw new Error(`there is no ${memoryFolder}: run this on Linux with a file system in memory`)
    await using sink = await startServer('sink.ts')
    const [warm, pipelines] = quick ? [500, 1_000] : [2_000, 28_000]
    for (;;) {
      const inMemory = await costIn(memoryFolder)
      const onDisk = await costIn(undefined)
      yield { ours: onDisk.perSecond, rival: inMemory.perSecond, seen: seenOf(onDisk, inMemory) }
    }

    async function costIn(parent: string | undefined): Promise<Cost> {
      using folder = temporaryFolder(parent)
      await using daemon = await startDaemon({ backend: sink.port, folder: folder.path })
      const hooks = finishes(20)
      await sendAll(warm, hooks, daemon, sink, quick)
      const [cpu, size, began] = [processorMs(daemon.pid), statSync(daemon.file).size, performance.now()]
      const writtenKB: number[] = []
      for (let slice = 0; slice < slices; slice += 1) {
        const before = writtenBytes(daemon.pid)
        await sendAll(pipelines / slices, hooks, daemon, sink, quick)
        writtenKB.push((writtenBytes(daemon.pid) - before) / (pipelines / slices) / 1_000)
      }
      return {
        perSecond: (pipelines * 1_000) / (performance.now() - began),
        cpuMs: (processorMs(daemon.pid) - cpu) / pipelines,
        writtenKB,
        storedKB: (statSync(daemon.file).size - size) / pipelines / 1_000,
      }
    }
  },
}

function seenOf(onDisk: Cost, inMemory: Cost): string {
  const written = onDisk.writtenKB.map(one => one.toFixed(0)).join(', ')
  return (
    `per pipeline: ${onDisk.cpuMs.toFixed(2)} ms of processor time with the store on a disk, ${inMemory.cpuMs.toFixed(2)} ms with it in memory; ` +
    `${written} KB written; ${onDisk.storedKB.toFixed(1)} KB stored`
  )
}

/** Returns the number of bytes that the process has caused to be written to storage, according to proc(5). */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0)
}
