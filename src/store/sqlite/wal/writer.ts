// Writes the write-ahead log (WAL): what was appended is on the disk, in a file that is still to be found there, before the promise resolves. Erases
// what is processed, a segment at a time.
//
// Somebody may take files away under it: a hand, a restore, a mount. What was accepted and waits in such a file is still to be had
// through its descriptor, and is written again, by the same name.
import { closeSync, existsSync, fdatasyncSync, ftruncateSync, openSync, writevSync } from 'node:fs'
import { encodeRecord } from './record.ts'
import { createSegment, eraseSegment, isThere, walBytes, listSegments, proveFolder, spentSegments } from './segments.ts'
import { every } from '../../../lib/timer.ts'
import { reasonOf } from '../../../lib/fault.ts'
import { writeAgain } from './write-again.ts'
import type { Delivery } from '../../ports/inbox.ts'
import type { WalPositions } from './positions.ts'
import type { Log } from '../../../lib/log.ts'
import type { Segment } from './segments.ts'

export interface WalWriter {
  /** Throws what the file system throws; then nothing of it will be read. Not to be called again before it is done. */
  append(deliveries: readonly Delivery[], receivedAt: number): Promise<void>
  /** Bytes that the WAL takes. */
  readonly size: number
  /** Rejects when the disk does not take so many bytes. */
  prove(bytes: number): Promise<void>
  close(): Promise<void>
}

export interface WalWriterOptions {
  readonly log?: Log | undefined
  /** Understood bodies are gone from the disk this long after the last delivery at the latest, ms; under load, a segment later. */
  readonly tidyEvery?: number | undefined
  /** How long files are waited for that are away and cannot be written again, ms. */
  readonly patience?: number | undefined
}

/** A segment that has so many bytes gets no more. */
const segmentBytes = 16 * 2 ** 20
/** Buffers that one call writes: less than the 1,024 that systems take (IOV_MAX). */
const piecesAtOnce = 1_000
/** So many full segments stay open: what somebody takes away can be written again from them. */
const mostOpen = 16

interface FullSegment extends Segment {
  readonly descriptor: number | undefined
}

/** To be opened by one thread of one process; goes on behind `positions.end`, in a segment of its own. */
export function openWalWriter(
  folder: string,
  positions: WalPositions,
  { log, tidyEvery = 1_000, patience = 60_000 }: WalWriterOptions = {},
): WalWriter {
  let full: FullSegment[] = listSegments(folder).map((segment, at, all) => ({
    ...segment,
    descriptor: all.length - at <= mostOpen ? openedAgain(segment) : undefined,
  }))
  let current = { ...createSegment(folder, positions.end.seq + 1), length: 0 }
  let fullBytes = walBytes(folder)
  let appendedAt = performance.now()
  let isAppending = false
  /** Behind its end there may be bytes that were never answered as accepted. */
  let isSpoiled = false
  /** What the disk said of it when it was to be written: it gets no more. */
  let isDoubtful = false
  let isUntidy = false
  /** Since when full files are away of which no descriptor is open. */
  let awaySince: number | undefined
  let erasing: Promise<void> | undefined
  const tidying = every(tidyEvery, async () => (erasing = tidy()), cannotTidy)

  function roll(): void {
    const before = current
    current = { ...createSegment(folder, positions.end.seq + 1), length: 0 }
    isDoubtful = false
    full.push(before)
    fullBytes += before.length
    // The oldest are the first to be erased.
    const surplus = full[full.length - 1 - mostOpen]
    if (surplus?.descriptor === undefined) return
    closeSync(surplus.descriptor)
    full = full.map(one => (one === surplus ? { ...one, descriptor: undefined } : one))
  }

  /** Before something is written. */
  function prepare(): void {
    if (isSpoiled) ftruncateSync(current.descriptor, current.length)
    isSpoiled = false
    if (current.length < segmentBytes && !(isDoubtful && current.length > 0)) return
    // A new file in a folder that was emptied just now would hide that the ones before it are gone.
    look()
    roll()
  }

  function write(deliveries: readonly Delivery[], receivedAt: number): void {
    prepare()
    const { descriptor, length, salt } = current
    let { seq, bytes } = positions.end
    const pieces = deliveries.flatMap(delivery => {
      const record = { seq: ++seq, bytesBefore: bytes, receivedAt, delivery }
      bytes += delivery.body.length
      return encodeRecord(record, salt)
    })
    let end = length
    try {
      for (let from = 0; from < pieces.length; from += piecesAtOnce) {
        end += writeAll(descriptor, pieces.slice(from, from + piecesAtOnce), end)
      }
      isDoubtful = true
      // At once, on this thread: in the pool of threads it would wait behind whatever the main thread compresses.
      fdatasyncSync(descriptor)
      isDoubtful = false
      if (!isThere(current.file, descriptor)) throw new TakenAway()
    } catch (error) {
      // Its numbers are given again.
      isSpoiled = true
      ftruncateSync(descriptor, length)
      isSpoiled = false
      throw error
    }
    current.length = end
    positions.moveEnd({ seq, bytes })
  }

  async function append(deliveries: readonly Delivery[], receivedAt: number): Promise<void> {
    isAppending = true
    try {
      try {
        write(deliveries, receivedAt)
      } catch (error) {
        if (!(error instanceof TakenAway)) throw error
        look()
        write(deliveries, receivedAt)
      }
    } finally {
      isAppending = false
      appendedAt = performance.now()
    }
  }

  /** Whatever is not where it was is written again, in its order; only once all of it is there its reader may give up what it misses. */
  function look(): void {
    const spent = new Set<Segment>(spentSegments(full, current.first, positions.processed))
    // One after the other: what is there again stays, where the next cannot be written.
    for (const one of full) {
      if (one.descriptor === undefined || isThere(one.file, one.descriptor)) continue
      const written = spent.has(one) ? [] : [again(one, one.descriptor)]
      if (written.length === 0) closeSync(one.descriptor)
      full = full.flatMap(other => (other === one ? written : [other]))
    }
    if (!isThere(current.file, current.descriptor)) replaceCurrent()
    if (isAllThere(spent)) positions.noteLook()
  }

  function replaceCurrent(): void {
    const before = current
    if (positions.processed >= positions.end.seq) {
      current = { ...createSegment(folder, positions.end.seq + 1), length: 0 }
      closeSync(before.descriptor)
      log?.warn({ file: before.file }, 'a file of the write-ahead log was removed; it had no pending deliveries')
    } else {
      current = { ...again(before, before.descriptor), length: before.length }
    }
    isSpoiled = false
    isDoubtful = false
  }

  /** Those that could not be written again may be back soon: they are waited for, but not forever. */
  function isAllThere(spent: ReadonlySet<Segment>): boolean {
    const away = full.filter(one => one.descriptor === undefined && !spent.has(one) && !existsSync(one.file))
    if (away.length === 0) {
      awaySince = undefined
      return true
    }
    awaySince ??= performance.now()
    if (performance.now() - awaySince < patience) return false
    full = full.filter(one => !away.includes(one))
    log?.error(
      { files: away.map(({ file }) => file) },
      'files of the write-ahead log are gone, with their pending deliveries',
    )
    return true
  }

  function again<T extends Segment>(segment: T, descriptor: number): T & { readonly descriptor: number } {
    const length = segment === (current as Segment) ? current.length : undefined
    const written = { ...segment, ...writeAgain(segment, descriptor, length) }
    closeSync(descriptor)
    log?.error(
      { file: segment.file, again: written.file },
      'a file of the write-ahead log was removed; its pending deliveries were written again',
    )
    return written
  }

  async function tidy(): Promise<void> {
    if (!isAppending) {
      look()
      const isQuiet = performance.now() - appendedAt >= tidyEvery
      if (isQuiet && current.length > 0 && positions.processed >= positions.end.seq) roll()
    }
    await eraseProcessed()
    if (isUntidy) log?.info('old files of the write-ahead log can be removed again')
    isUntidy = false
  }

  /** Once per series of failures: until it passes the WAL stays as large as it is. */
  function cannotTidy(error: unknown): void {
    if (!isUntidy) log?.error({ reason: reasonOf(error) }, 'old files of the write-ahead log cannot be removed')
    isUntidy = true
  }

  async function eraseProcessed(): Promise<void> {
    const errors: unknown[] = []
    for (const segment of spentSegments(full, current.first, positions.processed)) {
      try {
        await eraseSegment(segment)
      } catch (error) {
        // The others can be erased all the same.
        errors.push(error)
        continue
      }
      const gone = full.find(({ file }) => file === segment.file)
      if (gone?.descriptor !== undefined) closeSync(gone.descriptor)
      full = full.filter(one => one !== gone)
      fullBytes = walBytes(folder) - current.length
    }
    if (errors.length > 0) throw errors[0]
  }

  return {
    append,
    get size() {
      return fullBytes + current.length
    },
    prove: async bytes => {
      if (!isAppending) look()
      await proveFolder(folder, bytes)
    },
    close: async () => {
      tidying.stop()
      await erasing?.catch(() => undefined)
      try {
        // Nobody has what waits any more once the descriptors are closed.
        if (positions.processed < positions.end.seq) look()
      } catch (error) {
        cannotTidy(error)
      }
      for (const { descriptor } of [...full, current]) if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

/** Whatever becomes of it is for nobody to read. */
class TakenAway extends Error {
  constructor() {
    super('the file was removed while it was written')
  }
}

function openedAgain({ file }: Segment): number | undefined {
  try {
    return openSync(file, 'r')
  } catch {
    return undefined
  }
}

function writeAll(descriptor: number, pieces: readonly Uint8Array[], at: number): number {
  let written = writevSync(descriptor, pieces, at)
  const wanted = pieces.reduce((sum, piece) => sum + piece.length, 0)
  // A call may write less than it was given: the rest in one piece.
  while (written < wanted) {
    const rest = Buffer.concat(pieces).subarray(written)
    written += writevSync(descriptor, [rest], at + written)
  }
  return written
}
