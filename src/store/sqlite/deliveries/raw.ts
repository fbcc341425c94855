// Reads the deliveries of a damaged file from its pages, without SQLite: a damaged page costs only the deliveries
// in it (https://www.sqlite.org/fileformat2.html). Not for a file that this process has open: closing it would release SQLite's locks.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { columns, pageBytes, storedDelivery, type StoredDelivery } from './rows.ts'
import { framesOf } from './log-frames.ts'
import type { DeliveryFile } from './files.ts'
import type { Row } from '../../sql/columns.ts'

export interface RawFile {
  /** The intact ones, some of them twice. */
  deliveries(isWanted: (seq: number) => boolean): Generator<StoredDelivery>
  /** False if some bytes could not be read, or if SQLite would not find all of its commits. */
  isWhole(): boolean
  close(): void
}

/** Reading stops after this many damaged pages in a row: a disk may take seconds for each. */
const maxFailures = 16

/** Throws if there is no such file. */
export function openRaw({ path: file, salt }: DeliveryFile): RawFile {
  const descriptor = openSync(file, 'r')
  const size = fstatSync(descriptor).size
  let isWhole = true
  let failures = 0

  /** A page of zeros has no delivery. */
  function read(from: number, at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length)
    for (let done = 0; done < length; done += pageBytes) {
      if (failures === maxFailures) break
      try {
        readSync(from, bytes, done, Math.min(pageBytes, length - done), at + done)
        failures = 0
      } catch {
        isWhole = false
        failures += 1
      }
    }
    return bytes
  }

  function readLog(): Buffer {
    const logFile = `${file}-wal`
    if (!existsSync(logFile)) return Buffer.alloc(0)
    const from = openSync(logFile, 'r')
    try {
      return read(from, 0, fstatSync(from).size)
    } finally {
      closeSync(from)
    }
  }

  const log = readLog()
  const { committed, generations, isCut } = framesOf(log)

  function* deliveries(isWanted: (seq: number) => boolean): Generator<StoredDelivery> {
    for (const pages of [new Map<number, number>(), committed, ...generations]) {
      const page = (number: number): Buffer => {
        const at = pages.get(number)
        if (at !== undefined) return log.subarray(at, at + pageBytes)
        return read(descriptor, (number - 1) * pageBytes, pageBytes)
      }
      for (const number of pages.size === 0 ? allOf(size) : pages.keys())
        for (const row of rowsOf(page(number), page, size + log.length, isWanted)) {
          const found = storedDelivery(row, salt)
          if (found !== undefined) yield found
        }
    }
  }

  return { deliveries, isWhole: () => isWhole && !isCut, close: () => closeSync(descriptor) }
}

function* allOf(size: number): Generator<number> {
  for (let number = 1; number * pageBytes <= size; number += 1) yield number
}

/** A leaf of a table, its cells' offsets behind eight bytes. */
const leaf = { type: 0x0d, count: 3, cells: 8 }

function* rowsOf(
  bytes: Buffer,
  page: (number: number) => Buffer,
  maxPayload: number,
  isWanted: (seq: number) => boolean,
): Generator<Row> {
  if (bytes[0] !== leaf.type) return
  const count = Math.min(bytes.readUInt16BE(leaf.count), (pageBytes - leaf.cells) / 2)
  for (let cell = 0; cell < count; cell += 1) {
    try {
      const size = varint(bytes, bytes.readUInt16BE(leaf.cells + 2 * cell))
      const seq = varint(bytes, size.end)
      if (size.value > maxPayload || !isWanted(seq.value)) continue
      yield { ...rowOf(payloadAt(bytes, seq.end, size.value, page)), seq: seq.value }
    } catch (error) {
      // A damaged cell may point beyond its page.
      if (!(error instanceof RangeError)) throw error
    }
  }
}

/** The bytes of a row. Those that do not fit into its page are in a chain of overflow pages. */
function payloadAt(bytes: Buffer, at: number, size: number, page: (number: number) => Buffer): Buffer {
  const most = pageBytes - 35
  const least = Math.floor(((pageBytes - 12) * 32) / 255) - 23
  const some = least + ((size - least) % (pageBytes - 4))
  const here = size <= most ? size : some <= most ? some : least
  const first = bytes.subarray(at, at + here)
  if (here === size) return first
  const pieces = [first]
  let next = bytes.readUInt32BE(at + here)
  for (let left = size - here; left > 0; left -= pageBytes - 4) {
    if (next === 0) throw new RangeError('the chain ends too early')
    const piece = page(next)
    pieces.push(piece.subarray(4, 4 + left))
    next = piece.readUInt32BE(0)
  }
  return Buffer.concat(pieces)
}

const integerBytes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]

function rowOf(payload: Buffer): Row {
  const row: Record<string, unknown> = {}
  let { value: at, end: typeAt } = varint(payload, 0)
  for (const column of columns) {
    const type = varint(payload, typeAt)
    typeAt = type.end
    const length = type.value < 12 ? (integerBytes[type.value] ?? 0) : Math.floor((type.value - 12) / 2)
    if (at + length > payload.length) throw new RangeError('the row ends too early')
    row[column] = valueOf(type.value, payload.subarray(at, at + length))
    at += length
  }
  return row
}

function valueOf(type: number, bytes: Buffer): unknown {
  if (type >= 12) return type % 2 === 0 ? bytes : bytes.toString('utf8')
  if (type === 0) return null
  if (type === 7) return bytes.readDoubleBE(0)
  if (type === 6) return Number(bytes.readBigInt64BE(0))
  return type >= 8 ? type - 8 : bytes.readIntBE(0, bytes.length)
}

function varint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
  let value = 0
  for (let length = 1; ; length += 1) {
    const byte = bytes.readUInt8(at + length - 1)
    if (length === 9) return { value: value * 256 + byte, end: at + length }
    value = value * 128 + (byte & 127)
    if (byte < 128) return { value, end: at + length }
  }
}
