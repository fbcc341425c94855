// Writes the write-ahead log (WAL). When `append` resolves, the deliveries are on disk, in a file that still has its name. Erases
// processed deliveries, a segment at a time, and sets segments aside that have deliveries that could not be read.
//
// Files may be removed while they are open: by a person, a restore, a mount. Their pending deliveries can still be read through the
// descriptor, and are written again under the same name.
import { closeSync, existsSync, fdatasyncSync, ftruncateSync, openSync, writevSync } from 'node:fs'
import { encodeRecord } from './record.ts'
import { createSegment, isThere, walBytes, listSegments, proveFolder, removeSpent, spentSegments } from './segments.ts'
import { every } from '../../../lib/timer.ts'
import { reasonOf } from '../../../lib/fault.ts'
import { writeAgain } from './write-again.ts'
import type { Delivery } from '../../ports/inbox.ts'
import type { WalPositions } from './positions.ts'
import type { Log } from '../../../lib/log.ts'
import type { MayHaveUnread, Segment } from './segments.ts'

export interface WalWriter {
  /** All or nothing: throws what the file system throws. Only one call at a time. */
  append(deliveries: readonly Delivery[], receivedAt: number): Promise<void>
  /** Bytes of all segments. */
  readonly size: number
  /** Rejects if the disk has no room for so many bytes. */
  prove(bytes: number): Promise<void>
  close(): Promise<void>
}

interface WalWriterOptions {
  readonly log?: Log | undefined
  /** How often files are checked and erased, ms. After a pause of this length a segment is closed, so that processed bodies are erased soon. */
  readonly tidyEvery?: number | undefined
  /** How long to wait for missing files that cannot be written again, ms. */
  readonly patience?: number | undefined
  readonly mayHaveUnread?: MayHaveUnread | undefined
}

/** A segment of this size is full. */
const segmentBytes = 16 * 2 ** 20
/** Buffers of one call; systems allow 1,024 (IOV_MAX). */
const piecesAtOnce = 1_000
/** So many full segments stay open, so that they can be written again if they are removed. */
const mostOpen = 16

interface FullSegment extends Segment {
  readonly descriptor: number | undefined
}

/** Only one may be open. Continues after `positions.end`, in a new segment. */
export function openWalWriter(
  folder: string,
  positions: WalPositions,
  { log, tidyEvery = 1_000, patience = 60_000, mayHaveUnread = () => false }: WalWriterOptions = {},
): WalWriter {
  let full: FullSegment[] = listSegments(folder).map((segment, at, all) => ({
    ...segment,
    descriptor: all.length - at <= mostOpen ? openedAgain(segment) : undefined,
  }))
  let current = { ...createSegment(folder, positions.end.seq + 1), length: 0 }
  let fullBytes = walBytes(folder)
  let appendedAt = performance.now()
  let isAppending = false
  /** After a failed write there may be bytes after `current.length`, which must be cut off. */
  let isSpoiled = false
  /** A sync of the segment has failed, so it is unknown what is on disk: nothing more is appended to it. */
  let isDoubtful = false
  let isUntidy = false
  /** Since when full files are missing that are not open. */
  let awaySince: number | undefined
  let erasing: Promise<void> | undefined
  const tidying = every(tidyEvery, async () => (erasing = tidy()), cannotTidy)

  function roll(): void {
    const before = current
    current = { ...createSegment(folder, positions.end.seq + 1), length: 0 }
    isDoubtful = false
    full.push(before)
    fullBytes += before.length
    // The oldest will be erased first.
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
    // First look for removed files: a new one in an emptied folder would hide that they are gone.
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
      // Synchronous, as Node's thread pool may be busy with compression for the main thread.
      fdatasyncSync(descriptor)
      isDoubtful = false
      if (!isThere(current.file, descriptor)) throw new TakenAway()
    } catch (error) {
      // `positions.end` was not moved, so the same `seq` will be used again.
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

  /** Writes removed files again, in order. Only when all files are in place may the reader give up what it does not find (`missed.ts`). */
  function look(): void {
    const spent = new Set(spentSegments(full, current.first, positions.processed).map(({ file }) => file))
    // `full` is updated after each, so that nothing is lost if the next one cannot be written.
    for (const one of full) {
      if (one.descriptor === undefined || isThere(one.file, one.descriptor)) continue
      const written = spent.has(one.file) ? [] : [again(one, one.descriptor)]
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

  /** Missing files that cannot be written again may come back: wait for them, but not forever. */
  function isAllThere(spent: ReadonlySet<string>): boolean {
    const away = full.filter(one => one.descriptor === undefined && !spent.has(one.file) && !existsSync(one.file))
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
    await eraseSpent()
    if (isUntidy) log?.info('old files of the write-ahead log can be removed again')
    isUntidy = false
  }

  /** Logged once per series of failures: meanwhile the WAL cannot shrink. */
  function cannotTidy(error: unknown): void {
    if (!isUntidy) log?.error({ reason: reasonOf(error) }, 'old files of the write-ahead log cannot be removed')
    isUntidy = true
  }

  async function eraseSpent(): Promise<void> {
    const errors: unknown[] = []
    for (const segment of spentSegments(full, current.first, positions.processed)) {
      try {
        await removeSpent(segment, mayHaveUnread)
      } catch (error) {
        // Go on with the others.
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
        // Once the descriptors are closed, removed files cannot be written again.
        if (positions.processed < positions.end.seq) look()
      } catch (error) {
        cannotTidy(error)
      }
      for (const { descriptor } of [...full, current]) if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

/** Leads to a second try, in a new file. */
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
  // A call may write less than it was given.
  while (written < wanted) {
    const rest = Buffer.concat(pieces).subarray(written)
    written += writevSync(descriptor, [rest], at + written)
  }
  return written
}
