// Records as the first version wrote them, with one checksum over all of a record and none of the head alone: they are read until they
// are worked off, and written no more. Behind a damaged one only the place that it names itself is tried.
import { crc32 } from 'node:zlib'
import type { Delivery } from '../../ports/inbox.ts'
import type { RecordFormat, RecordHead } from './record.ts'

// Little endian: the mark, the checksum of all that follows it, how long the facts and the body are; seq, bytesBefore and
// receivedAt as doubles; the facts, JSON in UTF-8; the body as it came.
const at = { mark: 0, checksum: 4, facts: 8, body: 12, seq: 16, bytesBefore: 24, receivedAt: 32, end: 40 }
const mark = 0x314a5350 // "PSJ1"
/** Longer facts or bodies than were ever taken are no record's. */
const longest = 2 ** 28

function readHead(bytes: Buffer): RecordHead | undefined {
  if (bytes.length < at.end || bytes.readUInt32LE(at.mark) !== mark) return undefined
  const [facts, body] = [bytes.readUInt32LE(at.facts), bytes.readUInt32LE(at.body)]
  if (facts > longest || body > longest) return undefined
  return { seq: bytes.readDoubleLE(at.seq), length: at.end + facts + body }
}

export const firstFormat: RecordFormat = {
  headBytes: at.end,
  mark: undefined,
  readHead,
  decode: bytes => {
    const head = readHead(bytes)
    if (head === undefined || head.length > bytes.length) return undefined
    if (crc32(bytes.subarray(at.facts, head.length)) !== bytes.readUInt32LE(at.checksum)) return undefined
    const body = at.end + bytes.readUInt32LE(at.facts)
    const facts = JSON.parse(bytes.toString('utf8', at.end, body)) as Omit<Delivery, 'body'>
    return {
      seq: head.seq,
      bytesBefore: bytes.readDoubleLE(at.bytesBefore),
      receivedAt: bytes.readDoubleLE(at.receivedAt),
      delivery: { ...facts, body: bytes.subarray(body, head.length) },
    }
  },
}
