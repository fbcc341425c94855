// One delivery as bytes in the write-ahead log (WAL). What was cut off or changed is known by its checksums, and the head has one of its own: how long
// a record is can be believed before all of it is read, and the next one is found again behind one that is damaged.
import { crc32 } from 'node:zlib'
import type { Delivery } from '../../ports/inbox.ts'
import type { Position } from './positions.ts'

/** A delivery with its place in the order of all. */
export interface WalRecord {
  /** 1, 2, 3, … through all files; none is given twice. */
  readonly seq: number
  /** Bytes of all bodies before this one. */
  readonly bytesBefore: number
  /** Unix time in milliseconds. */
  readonly receivedAt: number
  readonly delivery: Delivery
}

/** What a record's beginning says of it. */
export interface RecordHead {
  readonly seq: number
  /** Of the whole record, bytes. */
  readonly length: number
}

/** How the records of one file are read. */
export interface RecordFormat {
  /** Undefined where no record begins. Asks for `headBytes`. */
  readHead(bytes: Buffer): RecordHead | undefined
  /** Reads a whole record, whose body stays where it is; undefined where it is not what was written. */
  decode(bytes: Buffer): WalRecord | undefined
}

// Little endian: the magic; the checksum of the rest of the head; how long the facts and the body are; seq, bytesBefore and receivedAt
// as doubles; the checksum of all that follows; the facts, JSON in UTF-8; the body as it came.
const at = { magic: 0, check: 4, facts: 8, body: 12, seq: 16, bytesBefore: 24, receivedAt: 32, restCheck: 40, end: 44 }
/** Each record begins with it; that and the head's checksum distinguish a record from anything else. */
export const magic = Buffer.from('PSJ2')

/** Of a record's head; no record has fewer. */
export const headBytes = at.end

/** The place in the WAL behind this one. */
export function endOf({ seq, bytesBefore, delivery }: WalRecord): Position {
  return { seq, bytes: bytesBefore + delivery.body.length }
}

/**
 * The pieces to be written, one after the other; the body is not copied. `salt`: of the file. Nobody else knows it, so that nothing
 * within a delivery is ever taken for a record, however it was made.
 */
export function encodeRecord(
  { seq, bytesBefore, receivedAt, delivery }: WalRecord,
  salt: number,
): readonly Uint8Array[] {
  const { body, ...facts } = delivery
  const text = Buffer.from(JSON.stringify(facts))
  const head = Buffer.allocUnsafe(at.end + text.length)
  magic.copy(head, at.magic)
  head.writeUInt32LE(text.length, at.facts)
  head.writeUInt32LE(body.length, at.body)
  head.writeDoubleLE(seq, at.seq)
  head.writeDoubleLE(bytesBefore, at.bytesBefore)
  head.writeDoubleLE(receivedAt, at.receivedAt)
  text.copy(head, at.end)
  head.writeUInt32LE(crc32(body, crc32(text, salt)), at.restCheck)
  head.writeUInt32LE(crc32(head.subarray(at.facts, at.end), salt), at.check)
  return [head, body]
}

export function saltedFormat(salt: number): RecordFormat {
  function readHead(bytes: Buffer): RecordHead | undefined {
    if (bytes.length < at.end || magic.compare(bytes, at.magic, at.check) !== 0) return undefined
    if (crc32(bytes.subarray(at.facts, at.end), salt) !== bytes.readUInt32LE(at.check)) return undefined
    const length = at.end + bytes.readUInt32LE(at.facts) + bytes.readUInt32LE(at.body)
    return { seq: bytes.readDoubleLE(at.seq), length }
  }
  return {
    readHead,
    decode: bytes => {
      const head = readHead(bytes)
      if (head === undefined || head.length > bytes.length) return undefined
      const rest = bytes.subarray(at.end, head.length)
      if (crc32(rest, salt) !== bytes.readUInt32LE(at.restCheck)) return undefined
      const facts = bytes.readUInt32LE(at.facts)
      return {
        seq: head.seq,
        bytesBefore: bytes.readDoubleLE(at.bytesBefore),
        receivedAt: bytes.readDoubleLE(at.receivedAt),
        delivery: {
          ...(JSON.parse(rest.toString('utf8', 0, facts)) as Omit<Delivery, 'body'>),
          body: rest.subarray(facts),
        },
      }
    },
  }
}
