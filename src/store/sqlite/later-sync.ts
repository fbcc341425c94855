// Brings commits to the disk that did not wait for it: soon after them, SQLite's WAL is synced on a thread of Node's pool (decision 75).
import { closeSync, fdatasync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import { after, type Timer } from '../../lib/timer.ts'
import { EndOfProcess } from '../../lib/uncaught.ts'
import { reasonOf } from '../../lib/fault.ts'

export interface LaterSync {
  /** After a commit: each of `then` is called once it is on the disk, in the order of the commits. */
  committed(then: readonly (() => void)[]): void
  /** Resolves once everything that was committed is on the disk. */
  settled(): Promise<void>
  close(): void
}

/**
 * How long commits are collected for one sync, ms. After a power failure, what was sent since the last sync is sent again: in so short a time hardly
 * more than what is under way to the backend at any moment.
 */
const pause = 20

/**
 * `file`: SQLite's WAL, of a connection that is open until this is closed; nobody else may write it during the call. What an earlier process had committed
 * is in the memory of the system, and perhaps not on the disk, so it is brought there first. Throws what the file system throws.
 */
export function createLaterSync(file: string): LaterSync {
  const descriptor = openSync(file, 'r+')
  writeAgain(descriptor)
  fdatasyncSync(descriptor)
  const datasync = promisify(fdatasync)
  /** What waits for the next sync. */
  let waiting: (() => void)[] = []
  let isBehind = false
  let timer: Timer | undefined
  let syncing: Promise<void> | undefined

  function schedule(): void {
    // A sync that fails ends the process by itself.
    if (syncing === undefined) timer ??= after(pause, sync, () => undefined)
  }

  async function sync(): Promise<void> {
    timer?.stop()
    timer = undefined
    syncing ??= syncOnce().finally(() => {
      syncing = undefined
      if (isBehind) schedule()
    })
    return syncing
  }

  async function syncOnce(): Promise<void> {
    const thens = waiting
    waiting = []
    isBehind = false
    try {
      await datasync(descriptor)
    } catch (error) {
      endProcess(error)
      throw error
    }
    for (const then of thens) then()
  }

  return {
    committed: then => {
      waiting.push(...then)
      isBehind = true
      schedule()
    },
    settled: async () => {
      await syncing
      // Another caller may have begun the next sync.
      await (isBehind ? sync() : syncing)
    },
    close: () => {
      timer?.stop()
      isBehind = false
      const closeNow = (): void => closeSync(descriptor)
      if (syncing === undefined) closeNow()
      else void syncing.then(closeNow, closeNow)
    },
  }
}

const chunk = 1 << 20

/**
 * The same bytes at the same places. Linux takes for written what a sync could not write, and shows it to the next process, too: a sync alone would
 * succeed there and write nothing.
 */
function writeAgain(descriptor: number): void {
  const bytes = Buffer.allocUnsafe(chunk)
  let at = 0
  for (let length = 1; length > 0;) {
    length = readSync(descriptor, bytes, 0, chunk, at)
    if (length > 0) at += writeSync(descriptor, bytes, 0, length, at)
  }
}

/**
 * After a sync has failed, nobody knows what is on the disk, and a later sync may succeed without writing what this one did not. The next start
 * writes SQLite's WAL again. SQLite reads it up to the first frame whose checksum is wrong; deliveries of later commits are processed again.
 */
function endProcess(error: unknown): void {
  setImmediate(() => {
    throw new EndOfProcess(
      `The disk did not take what was written to the store: ${reasonOf(error)}. Check the disk. Nothing that was accepted is lost: ` +
        'the next start goes on from what is on it.',
    )
  })
}
