// The file of accepted deliveries taken away under load: removed, replaced, made read-only, mounted over and filled, and the daemon
// killed in the midst of it. What it acknowledged arrives; what it cannot keep it refuses; it goes on by itself.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFailed } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { freePorts } from '../../src/demo/daemon-process.ts'
import { Daemon } from '../e2e/daemon.ts'
import { arrivals, nameLife } from './arrivals.ts'
import { isFull, report } from '../e2e/load.ts'
import { SteadyFeed } from './steady-feed.ts'

const rounds = isFull ? 10 : 1
const timeoutMs = isFull ? 1_200_000 : 900_000
/** Deliveries between two blows. */
const share = isFull ? 400 : 8

interface Blow {
  readonly what: string
  /** Answers what ends it, where it does not heal by itself: until then deliveries may be refused. */
  readonly strike: (folder: string) => (() => void) | undefined
}

const mount = (...args: string[]): void => void execFileSync('mount', args, { stdio: 'ignore' })
const unmount = (folder: string): void => void execFileSync('umount', ['-l', folder], { stdio: 'ignore' })

/** All at once: the daemon makes it anew while its files would be removed one by one. */
function remove(folder: string): void {
  const gone = `${folder}-${performance.now()}`
  renameSync(folder, gone)
  rmSync(gone, { recursive: true })
}

function removeNewest(folder: string, end: string): undefined {
  const newest = readdirSync(folder)
    .filter(name => name.endsWith(end))
    .sort()
    .at(-1)
  if (newest !== undefined) rmSync(path.join(folder, newest), { force: true })
}

const blows: readonly Blow[] = [
  {
    what: 'its newest file removed',
    strike: folder => removeNewest(folder, '.db'),
  },
  {
    what: "SQLite's log of it removed",
    strike: folder => removeNewest(folder, '.db-wal'),
  },
  {
    what: 'removed',
    strike: folder => {
      remove(folder)
      return undefined
    },
  },
  {
    what: 'replaced by an empty one',
    strike: folder => {
      renameSync(folder, `${folder}-${performance.now()}`)
      // Unless the daemon was quicker.
      mkdirSync(folder, { recursive: true })
      return undefined
    },
  },
  {
    what: 'replaced by a file',
    strike: folder => {
      // The daemon may make a folder in between.
      while (!statSync(folder, { throwIfNoEntry: false })?.isFile()) {
        try {
          renameSync(folder, `${folder}-${performance.now()}`)
          writeFileSync(folder, 'in the way', { flag: 'wx' })
        } catch (error) {
          if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
        }
      }
      return () => rmSync(folder)
    },
  },
]

/** Only who may mount has these. */
const mounts: readonly Blow[] = [
  {
    what: 'read-only',
    strike: folder => {
      for (let tries = 1; ; tries += 1) {
        mount('--bind', folder, folder)
        try {
          mount('-o', 'remount,ro,bind', folder)
          return () => unmount(folder)
        } catch (error) {
          // A file that the daemon writes at that moment forbids it.
          unmount(folder)
          if (tries === 100) throw error
        }
      }
    },
  },
  {
    what: 'mounted over, and full',
    strike: folder => {
      mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder)
      return () => unmount(folder)
    },
  },
]

function mayMount(folder: string): boolean {
  try {
    mkdirSync(folder)
    mount('-t', 'tmpfs', 'tmpfs', folder)
    unmount(folder)
    return true
  } catch {
    return false
  }
}

it(
  'loses no acknowledged delivery when its files are removed, and accepts deliveries again as soon as they can be written',
  async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const [port = 0] = await freePorts(1)
    let life = 1
    const daemon = await Daemon.start({
      ...nameLife(life),
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    // What is missing then may have been said.
    onTestFailed(() => void process.stderr.write(daemon.output.slice(-10_000)))
    const folder = `${daemon.storeFile}-deliveries`
    const all = mayMount(path.join(daemon.folder, 'may')) ? [...blows, ...mounts] : blows
    const feed = new SteadyFeed(daemon.webhooks)
    for (let round = 0; round < rounds; round += 1) {
      for (const { strike } of all) {
        await feed.more(share)
        const mend = strike(folder)
        // Some blows last, and whatever is answered meanwhile, the process is there.
        try {
          if (mend !== undefined) await sleep(isFull ? 3_000 : 500)
          expect(daemon.process.child.exitCode).toBeNull()
        } finally {
          mend?.()
        }
        await feed.more(share)
      }
      remove(folder)
      // More than are under way: one of them was acknowledged after the folder was gone.
      await feed.more(10)
      await daemon.kill()
      await daemon.restart(nameLife((life += 1)))
    }
    await feed.stop()
    await feed.arrivesAt(receiver, timeoutMs / 2)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(arrivals(receiver.requests).unexplained).toEqual([])
    expect(daemon.output).not.toContain('cannot be read and are skipped')
    if (isFull)
      report({
        blows: rounds * all.length,
        acknowledged: feed.acknowledged.size,
        refused: [...feed.refused.values()].reduce((a, b) => a + b, 0),
      })
  },
  timeoutMs,
)
