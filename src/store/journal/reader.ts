// Reads the journal in its order, from any delivery on.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { decodeRecord, endOf, recordHead, recordLength, type JournalRecord } from './record.ts'
import { listSegments, openSegment, type Segment } from './segments.ts'
import type { Mark } from './marks.ts'

/** Where a record is, to read it again. */
export interface Place {
  readonly file: string
  readonly offset: number
  readonly length: number
}

export interface Found {
  readonly record: JournalRecord
  readonly place: Place
}

export interface JournalReader {
  /** The next record, again and again until `pass`; undefined when there is none up to `end`. */
  peek(end: number): Found | undefined
  pass(): void
  close(): void
}

/** Bytes of one read: some dozens of deliveries. */
const chunkBytes = 1 << 20

/** Begins behind the delivery `after`. What cannot be read is passed over, to the next segment: the seqs tell what is missing. */
export function readJournal(folder: string, after: number): JournalReader {
  let segment: Segment | undefined
  let descriptor: number | undefined
  let offset = 0
  /** Bytes of the segment from `from` on, as they were when the journal ended at `end`. */
  let chunk = { bytes: Buffer.alloc(0), from: 0, end: 0 }
  let found: Found | undefined

  function leave(): void {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  }

  /** False when there is none. */
  function enterNext(): boolean {
    const all = listSegments(folder)
    const last = all.findLast(({ first }) => first <= after + 1)?.first ?? 0
    const from = segment === undefined ? last : segment.first + 1
    for (const next of all.filter(({ first }) => first >= from)) {
      const opened = openSegment(next)
      // It was erased just now: then nothing in it waits.
      if (opened === undefined) continue
      leave()
      segment = next
      descriptor = opened
      offset = 0
      chunk = { bytes: Buffer.alloc(0), from: 0, end: 0 }
      return true
    }
    return false
  }

  /** At least so many bytes from the offset on, where the segment has them. */
  function bytesHere(length: number, end: number): Buffer {
    const have = chunk.bytes.subarray(offset - chunk.from)
    if (have.length >= length || descriptor === undefined) return have
    const size = Math.max(0, fstatSync(descriptor).size - offset)
    const bytes = Buffer.allocUnsafeSlow(Math.min(Math.max(length, chunkBytes), size))
    chunk = { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, offset)), from: offset, end }
    return chunk.bytes
  }

  function recordHere(end: number): Found | undefined {
    if (segment === undefined) return undefined
    const length = recordLength(bytesHere(recordHead, end))
    const record = length === undefined ? undefined : decodeRecord(bytesHere(length, end))
    if (length !== undefined && record !== undefined && record.seq <= chunk.end) {
      return { record, place: { file: segment.file, offset, length } }
    }
    if (chunk.end === end) return undefined
    // These bytes were read before all of them were on the disk for good: what could not be written is taken back.
    chunk = { bytes: Buffer.alloc(0), from: offset, end }
    return recordHere(end)
  }

  function peek(end: number): Found | undefined {
    for (;;) {
      found ??= recordHere(end)
      if (found !== undefined && found.record.seq > after) return found
      if (found !== undefined) pass()
      else if (after >= end || !enterNext()) return undefined
    }
  }

  function pass(): void {
    if (found === undefined) return
    offset += found.place.length
    after = Math.max(after, found.record.seq)
    found = undefined
  }

  return { peek, pass, close: leave }
}

/** Reads a record again; undefined where it is not there any more. */
export function readAgain({ file, offset, length }: Place): JournalRecord | undefined {
  const descriptor = openSegment({ file })
  if (descriptor === undefined) return undefined
  try {
    const bytes = Buffer.allocUnsafeSlow(length)
    readSync(descriptor, bytes, 0, length, offset)
    return decodeRecord(bytes)
  } finally {
    closeSync(descriptor)
  }
}

/** Where the journal ends, by its last segments alone; undefined where it holds nothing. */
export function endOfJournal(folder: string): Mark | undefined {
  for (const { first } of listSegments(folder).toReversed()) {
    const reader = readJournal(folder, first - 1)
    let last: Mark | undefined
    for (let found = reader.peek(Infinity); found !== undefined; found = reader.peek(Infinity)) {
      last = endOf(found.record)
      reader.pass()
    }
    reader.close()
    if (last !== undefined) return last
  }
  return undefined
}
