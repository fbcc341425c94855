// Writes the journal: what was appended is on the disk before the promise resolves. Erases what is understood, a segment at a time.
import { closeSync, fdatasync, ftruncateSync, writevSync } from 'node:fs'
import { promisify } from 'node:util'
import { encodeRecord } from './record.ts'
import { createSegment, eraseSegment, journalBytes, listSegments, proveFolder, spentSegments } from './segments.ts'
import type { Delivery } from '../inbox.ts'
import { every } from '../../lib/timer.ts'
import type { JournalMarks } from './marks.ts'

export interface JournalWriter {
  /** Throws what the file system throws; then nothing of it will be read. Not to be called again before it is done. */
  append(deliveries: readonly Delivery[], receivedAt: number): Promise<void>
  /** Bytes that the journal takes. */
  readonly size: number
  /** Rejects when the disk does not take so many bytes. */
  prove(bytes: number): Promise<void>
  close(): Promise<void>
}

/** A segment that has so many bytes gets no more. */
const segmentBytes = 16 * 2 ** 20
/** Understood bodies are gone from the disk this long after the last delivery at the latest, ms; under load, a segment later. */
const usualTidying = 1_000
/** Buffers that one call writes: less than the 1,024 that systems take (IOV_MAX). */
const piecesAtOnce = 1_000

/** To be opened by one thread of one process; goes on behind `marks.end`, in a segment of its own. */
export function openJournalWriter(folder: string, marks: JournalMarks, tidyEvery = usualTidying): JournalWriter {
  let current = { ...createSegment(folder, marks.end.seq + 1), length: 0 }
  // Not the one just made: a process that died may have left one of its name, with nothing in it that counts.
  let full = listSegments(folder).filter(({ first }) => first < current.first)
  let fullBytes = journalBytes(folder)
  let appendedAt = performance.now()
  let isAppending = false
  let erasing: Promise<void> | undefined
  // Where no new segment can be had, this one stays: the next delivery tells whether it can be written.
  const tidying = every(tidyEvery, tidy, () => undefined)

  function roll(): void {
    const before = current
    current = { ...createSegment(folder, marks.end.seq + 1), length: 0 }
    closeSync(before.descriptor)
    full.push(before)
    fullBytes += before.length
  }

  async function append(deliveries: readonly Delivery[], receivedAt: number): Promise<void> {
    let { seq, bytes } = marks.end
    const pieces = deliveries.flatMap(delivery => {
      const record = { seq: ++seq, bytesBefore: bytes, receivedAt, delivery }
      bytes += delivery.body.length
      return encodeRecord(record)
    })
    isAppending = true
    try {
      if (current.length >= segmentBytes) roll()
      const { descriptor, length } = current
      let end = length
      try {
        for (let from = 0; from < pieces.length; from += piecesAtOnce) {
          end += writeAll(descriptor, pieces.slice(from, from + piecesAtOnce), end)
        }
        await synced(descriptor)
      } catch (error) {
        // Its numbers are given again.
        ftruncateSync(descriptor, length)
        throw error
      }
      current.length = end
      marks.moveEnd({ seq, bytes })
    } finally {
      isAppending = false
      appendedAt = performance.now()
    }
  }

  function tidy(): void {
    const isQuiet = !isAppending && performance.now() - appendedAt >= tidyEvery
    if (isQuiet && current.length > 0 && marks.understood >= marks.end.seq) roll()
    erasing ??= eraseUnderstood()
      // It is tried again; until then the journal stays as large as it is.
      .catch(() => undefined)
      .then(() => {
        erasing = undefined
      })
  }

  async function eraseUnderstood(): Promise<void> {
    for (const segment of spentSegments(full, current.first, marks.understood)) {
      await eraseSegment(segment)
      full = full.filter(one => one !== segment)
      fullBytes = journalBytes(folder) - current.length
    }
  }

  return {
    append,
    get size() {
      return fullBytes + current.length
    },
    prove: async bytes => proveFolder(folder, bytes),
    close: async () => {
      tidying.stop()
      await erasing
      closeSync(current.descriptor)
    },
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

/** Asked for at the time of the call, as whoever watches a process from outside may have put another in its place. */
const synced = async (descriptor: number): Promise<void> => promisify(fdatasync)(descriptor)
