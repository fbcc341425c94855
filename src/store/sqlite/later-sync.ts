// Brings commits to the disk that did not wait for it: soon after them, SQLite's WAL is synced on a thread of Node's pool (decision 75).
import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
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
 * `file`: SQLite's WAL, of a connection that is open until this is closed. What a process that was killed had committed is in the memory of the system,
 * and perhaps not on the disk, so it is synced first. Throws what the file system throws.
 */
export function createLaterSync(file: string): LaterSync {
  const descriptor = openSync(file, 'r+')
  fdatasyncSync(descriptor)
  const datasync = promisify(fdatasync)
  /** What waits for the next sync. */
  let waiting: (() => void)[] = []
  let isBehind = false
  let timer: Timer | undefined
  let syncing: Promise<void> | undefined

  function schedule(): void {
    if (syncing === undefined) timer ??= after(pause, sync, endProcess)
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
    await datasync(descriptor)
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
      if (isBehind) await sync()
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

/**
 * After a sync has failed, nobody knows what is on the disk, and a later sync may succeed without writing what this one did not. SQLite finds out
 * when it opens the file: its WAL counts as far as its checksums are right, and the deliveries after that are processed again.
 */
function endProcess(error: unknown): void {
  setImmediate(() => {
    throw new EndOfProcess(
      `The disk did not take what was written to the store: ${reasonOf(error)}. Check the disk. Nothing that was accepted is lost: ` +
        'the next start goes on from what is on it.',
    )
  })
}
