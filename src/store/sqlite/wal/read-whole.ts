// Reads all records of one file of the write-ahead log (WAL) at once, whatever is between them: for a file that was set aside.
import { closeSync, fstatSync } from 'node:fs'
import { headBytes, magic, saltedFormat, type WalRecord } from './record.ts'
import { openSegment, type Segment } from './segments.ts'
import { readBytes } from './read-bytes.ts'

interface WholeFile {
  readonly records: readonly WalRecord[]
  /** False if some of its bytes are no readable record. What a failed write left at its end does not count. */
  readonly isWhole: boolean
}

/** `others`: files with which it may have been swapped. Throws what the file system throws. */
export function readWhole(segment: Segment, others: readonly Segment[]): WholeFile {
  const descriptor = openSegment(segment)
  if (descriptor === undefined) return { records: [], isWhole: false }
  try {
    const bytes = readBytes(descriptor, 0, fstatSync(descriptor).size)
    const tries = [segment, ...others].map(({ salt }) => recordsIn(bytes, salt))
    return tries.find(({ records }) => records.length > 0) ?? { records: [], isWhole: bytes.length === 0 }
  } finally {
    closeSync(descriptor)
  }
}

function recordsIn(bytes: Buffer, salt: number): WholeFile {
  const format = saltedFormat(salt)
  const records: WalRecord[] = []
  let isWhole = true
  for (let at = 0; at < bytes.length;) {
    const here = bytes.subarray(at)
    const head = format.readHead(here)
    const record = head && format.decode(here)
    if (head !== undefined && record !== undefined) {
      records.push(record)
      at += head.length
      continue
    }
    if (here.length < headBytes || (head?.length ?? 0) > here.length) break
    isWhole = false
    const next = bytes.indexOf(magic, at + (head?.length ?? 1))
    at = next === -1 ? bytes.length : next
  }
  return { records, isWhole }
}
