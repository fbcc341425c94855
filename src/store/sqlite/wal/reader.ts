// Reads the write-ahead log (WAL) in order, from any delivery on. It skips damaged places, up to the next record that can be read in the same
// or a later file; gaps in the `seq` of records show what is missing.
import { closeSync, fstatSync } from 'node:fs'
import { endOf, headBytes, magic, saltedFormat, type WalRecord, type RecordFormat, type RecordHead } from './record.ts'
import { isThere, listSegments, openSegment, type Segment } from './segments.ts'
import { readBytes } from './read-bytes.ts'
import { giveBack } from '../../../lib/give-back.ts'
import type { Position } from './positions.ts'

/** Where a record is. */
export interface Place {
  readonly segment: Segment
  readonly offset: number
  readonly length: number
}

/** Bytes that are no readable record. */
export interface Unread {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  /** An incomplete record at the end of the file: most likely one whose delivery was never accepted. */
  readonly isTorn: boolean
}

export interface Found {
  readonly record: WalRecord
  readonly place: Place
  /** What was skipped on the way to it. */
  readonly unread: readonly Unread[]
}

export interface WalReader {
  /** The next record, the same one until `pass`; undefined if there is none up to `end`. */
  peek(end: number): Found | undefined
  pass(): void
  /**
   * To be called if `peek` finds none although there are deliveries up to `end`: what is there instead. Undefined if their file may only be
   * away for the moment.
   */
  instead(end: number): readonly Unread[] | undefined
  /** Continues after this delivery. */
  skipTo(seq: number): void
  /** Nobody has a record any more that was passed: their memory is given back. */
  giveBack(): void
  close(): void
}

/** Bytes of one read: some dozens of deliveries. */
const chunkBytes = 1 << 20
/** So many reads are kept for `giveBack`, twice as many as a lease takes; older ones are left to the collector. */
const mostKept = 8

interface OpenFile {
  readonly segment: Segment
  readonly format: RecordFormat
  readonly descriptor: number
  readonly identity: string
}

/** Begins after the delivery `after`. */
export function readWal(folder: string, after: number): WalReader {
  let file: OpenFile | undefined
  let offset = 0
  /** Bytes of the file from `from` on, read when the WAL ended at `end`. */
  let chunk: { bytes: Buffer; from: number; end: number } = { bytes: Buffer.alloc(0), from: 0, end: 0 }
  /** The file's size when the last search found no record in it. */
  let barrenAt = -1
  let found: Found | undefined
  let unread: Unread[] = []
  /** What was read before `chunk`, with bodies that somebody may still have. */
  let before: Buffer[] = []
  /** Files that have nothing after `after`. */
  const left = new Set<string>()

  function enter(segment: Segment): boolean {
    const descriptor = openSegment(segment)
    // It was just erased, so all of it was processed.
    if (descriptor === undefined) return false
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    const identity = `${dev}:${ino}`
    if (identity === file?.identity || left.has(identity)) {
      closeSync(descriptor)
      return false
    }
    leave()
    file = { segment, format: saltedFormat(segment.salt), descriptor, identity }
    offset = 0
    barrenAt = -1
    replace(Buffer.alloc(0), 0, 0)
    return true
  }

  function leave(): void {
    if (file === undefined) return
    left.add(file.identity)
    const rest = sizeOf(file) - offset
    if (rest > 0) note(file, rest)
    closeSync(file.descriptor)
    file = undefined
  }

  function note({ segment, format, descriptor }: OpenFile, bytes: number): void {
    unread.push({
      file: segment.file,
      offset,
      bytes,
      isTorn: isTorn(format, readBytes(descriptor, offset, Math.min(bytes, headBytes)), bytes),
    })
  }

  /** Opens the next file that may have something after `after`. True also if this one has grown. */
  function enterNext(): boolean {
    const all = listSegments(folder)
    // After listing the files: as long as there is no next one, this one is being written to.
    const size = file === undefined ? 0 : sizeOf(file)
    if (size > offset && size !== barrenAt) return true
    const begins = all.findLast(({ first }) => first <= after + 1)?.first ?? 0
    return all.filter(({ first }) => first >= begins).some(enter)
  }

  function replace(bytes: Buffer, from: number, end: number): void {
    if (before.push(chunk.bytes) > mostKept) before.shift()
    chunk = { bytes, from, end }
  }

  /** At least `length` bytes, if the file has them. */
  function bytesAt(from: number, length: number, end: number): Buffer {
    if (from >= chunk.from) {
      const have = chunk.bytes.subarray(from - chunk.from)
      if (have.length >= length) return have
    }
    if (file === undefined) return Buffer.alloc(0)
    const size = Math.max(0, sizeOf(file) - from)
    replace(readBytes(file.descriptor, from, Math.min(Math.max(length, chunkBytes), size)), from, end)
    return chunk.bytes
  }

  /** What is at `offset`. `found`: a complete record that is durable. */
  function look(end: number): { readonly head: RecordHead | undefined; readonly found?: Found } {
    if (file === undefined) return { head: undefined }
    const { format, segment } = file
    const head = format.readHead(bytesAt(offset, headBytes, end))
    const record = head && format.decode(bytesAt(offset, head.length, end))
    if (head !== undefined && record !== undefined && head.seq <= chunk.end) {
      return { head, found: { record, place: { segment, offset, length: head.length }, unread } }
    }
    if (chunk.end >= end) return { head }
    // These bytes were read before all of them were durable, and a failed write is undone: read them again.
    replace(Buffer.alloc(0), offset, end)
    return look(end)
  }

  /** Moves to the next beginning of a record in this file; false if there is none yet. */
  function skip(head: RecordHead | undefined, end: number): boolean {
    if (file === undefined) return false
    const size = sizeOf(file)
    if (offset >= size || size === barrenAt) return false
    const next = nextHead(file, offset + (head?.length ?? 1), size, end)
    if (next === undefined) {
      barrenAt = size
      return false
    }
    note(file, next - offset)
    offset = next
    return true
  }

  function nextHead({ format }: OpenFile, from: number, size: number, end: number): number | undefined {
    const isHead = (place: number): boolean => format.readHead(bytesAt(place, headBytes, end)) !== undefined
    for (let at = from; at + headBytes <= size;) {
      const bytes = bytesAt(at, headBytes, end)
      const here = bytes.indexOf(magic)
      if (here === -1) {
        // The magic may begin in this chunk and end in the next.
        at += Math.max(1, bytes.length - magic.length + 1)
        continue
      }
      if (isHead(at + here)) return at + here
      at += here + 1
    }
    return undefined
  }

  function peek(end: number): Found | undefined {
    for (;;) {
      const here = found === undefined ? look(end) : undefined
      found ??= here?.found
      if (found !== undefined && found.record.seq > after) return found
      if (found !== undefined) {
        pass()
        continue
      }
      if (after >= end) return undefined
      // The next record is not durable yet.
      if (here?.head !== undefined && here.head.seq > end) return undefined
      if (!skip(here?.head, end) && !enterNext()) return undefined
    }
  }

  function pass(): void {
    if (found === undefined) return
    offset += found.place.length
    skipTo(found.record.seq)
    found = undefined
  }

  function skipTo(seq: number): void {
    if (seq <= after) return
    after = seq
    unread = []
    left.clear()
  }

  return {
    peek,
    pass,
    skipTo,
    giveBack: () => {
      for (const bytes of before) giveBack(bytes)
      before = []
    },
    instead: end => {
      if (found !== undefined || after >= end || file === undefined) return undefined
      const { segment, descriptor, format } = file
      if (!isThere(segment.file, descriptor)) return undefined
      const bytes = sizeOf(file) - offset
      if (bytes <= 0) return unread
      const torn = isTorn(format, readBytes(descriptor, offset, Math.min(bytes, headBytes)), bytes)
      return [...unread, { file: segment.file, offset, bytes, isTorn: torn }]
    },
    close: () => {
      if (file !== undefined) closeSync(file.descriptor)
      file = undefined
    },
  }
}

function sizeOf({ descriptor }: OpenFile): number {
  return fstatSync(descriptor).size
}

function isTorn(format: RecordFormat, head: Buffer, bytes: number): boolean {
  return bytes < headBytes || (format.readHead(head)?.length ?? 0) > bytes
}

/** Reads a record again; undefined if it is not there any more. */
export function readAgain({ segment, offset, length }: Place, seq: number): WalRecord | undefined {
  const descriptor = openSegment(segment)
  if (descriptor === undefined) return undefined
  try {
    const record = saltedFormat(segment.salt).decode(readBytes(descriptor, offset, length))
    return record?.seq === seq ? record : undefined
  } finally {
    closeSync(descriptor)
  }
}

interface WalEnd {
  /** Undefined if no record can be read. */
  readonly position: Position | undefined
  /** What comes after it. */
  readonly unread: readonly Unread[]
}

/** The end of the WAL. Reads its last segments only. */
export function endOfWal(folder: string): WalEnd {
  let rest: readonly Unread[] = []
  for (const { first } of listSegments(folder).toReversed()) {
    const reader = readWal(folder, first - 1)
    let last: Position | undefined
    for (let found = reader.peek(Infinity); found !== undefined; found = reader.peek(Infinity)) {
      last = endOf(found.record)
      reader.pass()
    }
    rest = reader.instead(Infinity) ?? rest
    reader.close()
    if (last !== undefined) return { position: last, unread: rest }
  }
  return { position: undefined, unread: rest }
}
