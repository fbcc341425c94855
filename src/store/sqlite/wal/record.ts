// The format of one delivery in the write-ahead log (WAL). Checksums show what was cut off or changed. The head has its own, so that the length can
// be trusted before the rest is read, and the next record can be found after a damaged one.
import { crc32 } from 'node:zlib'
import type { Delivery } from '../../ports/inbox.ts'
import type { Position } from './positions.ts'

export interface WalRecord {
  /** 1, 2, 3, … over all files; never reused. */
  readonly seq: number
  /** Sum of all bodies before this one. */
  readonly bytesBefore: number
  /** Unix time in milliseconds. */
  readonly receivedAt: number
  readonly delivery: Delivery
}

export interface RecordHead {
  readonly seq: number
  /** Bytes of the whole record. */
  readonly length: number
}

/** Reads the records of one file. */
export interface RecordFormat {
  /** Needs `headBytes`. Undefined if no record begins here. */
  readHead(bytes: Buffer): RecordHead | undefined
  /** Needs the whole record; its body is not copied. Undefined if a checksum is wrong. */
  decode(bytes: Buffer): WalRecord | undefined
}

// Little endian: the magic; the checksum of the rest of the head; the lengths of facts and body; seq, bytesBefore and receivedAt as doubles;
// the checksum of all that follows; the facts as JSON in UTF-8; the body.
const at = { magic: 0, check: 4, facts: 8, body: 12, seq: 16, bytesBefore: 24, receivedAt: 32, restCheck: 40, end: 44 }
/** The first bytes of each record. */
export const magic = Buffer.from('PSJ2')

export const headBytes = at.end

/** The position after this record. */
export function endOf({ seq, bytesBefore, delivery }: WalRecord): Position {
  return { seq, bytes: bytesBefore + delivery.body.length }
}

/**
 * The pieces to be written; the body is not copied. `salt`: of the file. It is unknown outside, so that nobody can forge a record within the
 * body of a delivery.
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
