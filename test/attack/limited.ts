// A memory limit for a process, as a container has one: a control group below that of the tests. Only where the system has groups
// of memory (version 1 or 2) that may be made, as for root in most containers. And a daemon that is held to one.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { Daemon } from '../e2e/daemon.ts'

export interface Limit {
  /** From now on the process is held to it; what it has used before counts elsewhere. */
  hold(pid: number): void
  /** The most that was ever used, the system's cache of files included, bytes. */
  peak(): number
}

const mib = 1024 * 1024

function ownGroup(): { readonly folder: string; readonly files: { readonly limit: string; readonly peak: string } } {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n')
  const first = lines.find(line => line.split(':')[1]?.split(',').includes('memory') === true)
  if (first !== undefined) {
    const files = { limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' }
    return { folder: path.join('/sys/fs/cgroup/memory', first.split(':')[2] ?? ''), files }
  }
  const second = lines.find(line => line.startsWith('0::'))?.slice(3) ?? ''
  return { folder: path.join('/sys/fs/cgroup', second), files: { limit: 'memory.max', peak: 'memory.peak' } }
}

/** A limit that goes away with the test; undefined where none can be had. */
export function limitOf(mebibytes: number): Limit | undefined {
  try {
    const { folder, files } = ownGroup()
    const group = path.join(folder, `pipespan-test-${process.pid}-${mebibytes}-${performance.now()}`)
    mkdirSync(group)
    onTestFinished(() => {
      try {
        rmdirSync(group)
      } catch {
        // Somebody is still in it: it goes with the group above.
      }
    })
    writeFileSync(path.join(group, files.limit), String(mebibytes * mib))
    return {
      hold: pid => writeFileSync(path.join(group, 'cgroup.procs'), String(pid)),
      peak: () => Number(readFileSync(path.join(group, files.peak), 'utf8')),
    }
  } catch {
    return undefined
  }
}

export interface LimitedDaemon {
  readonly daemon: Daemon
  readonly memory: () => MemoryFigures
}

/** The most that was ever used; with the system's cache of files too, where there is a limit. */
export type MemoryFigures = Readonly<Record<'residentMiB' | 'withCacheMiB', number | undefined>>

/** What docs/sizing.md says for a small container: by itself V8 takes no less than 256 MiB for its own part. */
export const smallHeap = ['--max-old-space-size=128']

/** A daemon that is ready, and held to so much memory from its first moment. */
export async function startWithin(
  mebibytes: number,
  env: NodeJS.ProcessEnv,
  nodeArgs: readonly string[] = [],
  openFiles?: number,
): Promise<LimitedDaemon> {
  // Made first, as it can only go away after the daemon.
  const limit = limitOf(mebibytes)
  const daemon = Daemon.launch(env, nodeArgs, openFiles)
  limit?.hold(daemon.process.child.pid ?? 0)
  expect(await daemon.lives()).toBe(true)
  const rounded = (bytes: number): number => Math.round(bytes / mib)
  return {
    daemon,
    memory: () => {
      const residentMiB = rounded(daemon.memory().peak)
      // Without a limit of the system's own nothing is proved but what it needed.
      if (limit === undefined) expect(residentMiB).toBeLessThan(mebibytes)
      return { residentMiB, withCacheMiB: limit && rounded(limit.peak()) }
    },
  }
}
