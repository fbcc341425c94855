// One delivery as bytes in the journal. What was cut off or changed is known by its checksum.
import { crc32 } from 'node:zlib'
import type { Delivery } from '../inbox.ts'
import type { Mark } from './marks.ts'

/** A delivery with its place in the order of all. */
export interface JournalRecord {
  /** 1, 2, 3, … without a gap, through all files. */
  readonly seq: number
  /** Bytes of all bodies before this one. */
  readonly bytesBefore: number
  /** Milliseconds of Unix time. */
  readonly receivedAt: number
  readonly delivery: Delivery
}

// Little endian: the mark, the checksum of all that follows it, how long the facts and the body are; seq, bytesBefore and
// receivedAt as doubles; the facts, JSON in UTF-8; the body as it came.
const at = { mark: 0, checksum: 4, facts: 8, body: 12, seq: 16, bytesBefore: 24, receivedAt: 32, end: 40 }
const mark = 0x314a5350 // "PSJ1"
/** Longer facts or bodies than any door takes are no record's. */
const longest = 2 ** 28

/** The place in the journal behind this one. */
export function endOf({ seq, bytesBefore, delivery }: JournalRecord): Mark {
  return { seq, bytes: bytesBefore + delivery.body.length }
}

/** Bytes at the beginning of a record that tell how long it is. */
export const recordHead = at.end

/** The pieces to be written, one after the other; the body is not copied. */
export function encodeRecord({ seq, bytesBefore, receivedAt, delivery }: JournalRecord): readonly Uint8Array[] {
  const { body, ...facts } = delivery
  const text = Buffer.from(JSON.stringify(facts))
  const head = Buffer.allocUnsafe(at.end + text.length)
  head.writeUInt32LE(mark, at.mark)
  head.writeUInt32LE(text.length, at.facts)
  head.writeUInt32LE(body.length, at.body)
  head.writeDoubleLE(seq, at.seq)
  head.writeDoubleLE(bytesBefore, at.bytesBefore)
  head.writeDoubleLE(receivedAt, at.receivedAt)
  text.copy(head, at.end)
  head.writeUInt32LE(crc32(body, crc32(head.subarray(at.facts))), at.checksum)
  return [head, body]
}

/** How long the record is that begins here; undefined where none does. Asks for `recordHead` bytes. */
export function recordLength(bytes: Buffer): number | undefined {
  if (bytes.length < recordHead || bytes.readUInt32LE(at.mark) !== mark) return undefined
  const [facts, body] = [bytes.readUInt32LE(at.facts), bytes.readUInt32LE(at.body)]
  return facts > longest || body > longest ? undefined : recordHead + facts + body
}

/** Reads a whole record, whose body stays where it is; undefined where it is not what was written. */
export function decodeRecord(bytes: Buffer): JournalRecord | undefined {
  const length = recordLength(bytes)
  if (length === undefined || length > bytes.length) return undefined
  const told = bytes.subarray(at.facts, length)
  if (crc32(told) !== bytes.readUInt32LE(at.checksum)) return undefined
  const body = at.end + bytes.readUInt32LE(at.facts)
  const facts = JSON.parse(bytes.toString('utf8', at.end, body)) as Omit<Delivery, 'body'>
  return {
    seq: bytes.readDoubleLE(at.seq),
    bytesBefore: bytes.readDoubleLE(at.bytesBefore),
    receivedAt: bytes.readDoubleLE(at.receivedAt),
    delivery: { ...facts, body: bytes.subarray(body, length) },
  }
}
