// The frames of SQLite's write-ahead log, each a page (https://www.sqlite.org/fileformat2.html#walformat). SQLite ends a log at its first damaged
// frame without an error: later commits would be lost. This file finds them.
import { pageBytes } from './rows.ts'

/** The positions of pages in the log, by their numbers. */
export type Pages = ReadonlyMap<number, number>

export interface LogFrames {
  /** The frames that SQLite finds. */
  readonly committed: Pages
  /** All frames, by the generation of the log that wrote them. */
  readonly generations: readonly Pages[]
  /** There are commits of this generation that SQLite does not find. */
  readonly isCut: boolean
}

const header = { bytes: 32, salts: 16, checksum: 24 }
const frame = { bytes: 24, commit: 4, salts: 8, checksum: 16 }

export function framesOf(log: Buffer): LogFrames {
  const view = new DataView(log.buffer, log.byteOffset, log.length)
  const sums: Sums = { a: 0, b: 0 }
  const generations = new Map<string, Map<number, number>>()
  const committed = new Map<number, number>()
  let open: [page: number, at: number][] = []
  let isCut = false
  if (log.length < header.bytes) return { committed, generations: [], isCut }
  const isLittle = (log.readUInt32BE(0) & 1) === 0
  const salts = log.toString('hex', header.salts, header.checksum)
  add(view, sums, isLittle, 0, header.checksum)
  const isBegun = isSum(log, header.checksum, sums)
  let isFound = isBegun
  for (let at = header.bytes; at + frame.bytes + pageBytes <= log.length; at += frame.bytes + pageBytes) {
    const own = log.toString('hex', at + frame.salts, at + frame.checksum)
    const place: [number, number] = [log.readUInt32BE(at), at + frame.bytes]
    const isCommit = log.readUInt32BE(at + frame.commit) !== 0
    if (isFound) {
      add(view, sums, isLittle, at, at + frame.salts)
      add(view, sums, isLittle, at + frame.bytes, at + frame.bytes + pageBytes)
      isFound = own === salts && isSum(log, at + frame.checksum, sums)
    }
    if (isFound) open.push(place)
    else if (isCommit && (own === salts || !isBegun)) isCut = true
    if (isFound && isCommit) {
      for (const [page, where] of open) committed.set(page, where)
      open = []
    }
    const generation = generations.get(own) ?? new Map<number, number>()
    generations.set(own, generation.set(...place))
  }
  return { committed, generations: [...generations.values()], isCut }
}

interface Sums {
  a: number
  b: number
}

function add(view: DataView, sums: Sums, isLittle: boolean, from: number, to: number): void {
  let { a, b } = sums
  for (let at = from; at < to; at += 8) {
    a = (a + view.getUint32(at, isLittle) + b) | 0
    b = (b + view.getUint32(at + 4, isLittle) + a) | 0
  }
  sums.a = a
  sums.b = b
}

function isSum(log: Buffer, at: number, { a, b }: Sums): boolean {
  return log.readInt32BE(at) === a && log.readInt32BE(at + 4) === b
}
