// The WAL of deliveries: what was appended is read back as it was, whatever was cut off, changed, or processed in between.
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { pbkdf2 } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { alsoProcessed, waitingUpTo, type Checkpoint } from '../../src/store/sqlite/wal/checkpoint.ts'
import { encodeRecord, endOf, saltedFormat, type WalRecord } from '../../src/store/sqlite/wal/record.ts'
import { readBytes } from '../../src/store/sqlite/wal/read-bytes.ts'
import { endOfWal, readAgain, readWal } from '../../src/store/sqlite/wal/reader.ts'
import { walBytes, listSegments, openSegment } from '../../src/store/sqlite/wal/segments.ts'
import { walPositions, type WalPositions } from '../../src/store/sqlite/wal/positions.ts'
import { openWalWriter, type WalWriter } from '../../src/store/sqlite/wal/writer.ts'
import { delivery } from './exercise.ts'
import { folderAt } from './with-wal.ts'

const records = fc.record({
  seq: fc.nat(),
  bytesBefore: fc.nat(),
  receivedAt: fc.nat(),
  delivery: fc.record({
    key: fc.string(),
    event: fc.string(),
    instance: fc.string(),
    source: fc.constantFrom('webhook' as const, 'redelivery' as const),
    body: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  }),
})

const salt = 0x1234abcd
const decode = (bytes: Buffer): WalRecord | undefined => saltedFormat(salt).decode(bytes)

describe('a record', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(records, record => {
        expect(decode(Buffer.concat(encodeRecord(record, salt)))).toEqual(record)
      }),
    )
  })

  it('is known as none when any byte of it changed, or it was cut off anywhere', () => {
    fc.assert(
      fc.property(records, fc.nat(), fc.integer({ min: 1, max: 255 }), (record, where, change) => {
        const bytes = Buffer.concat(encodeRecord(record, salt))
        const at = where % bytes.length
        expect(decode(bytes.subarray(0, at))).toBeUndefined()
        bytes[at] = (bytes[at] ?? 0) ^ change
        expect(decode(bytes)).toBeUndefined()
      }),
    )
  })
})

describe('what is processed of it', () => {
  const none: Checkpoint = { to: { seq: 0, bytes: 0 }, beyond: new Map() }

  it('is the same in whatever order it came to be, and what waits is the rest', () => {
    const sizes = fc.array(fc.nat(100), { minLength: 1, maxLength: 30 })
    const order = sizes.chain(all => fc.tuple(fc.constant(all), fc.shuffledSubarray(all.map((_, at) => at + 1))))
    fc.assert(
      fc.property(order, ([all, processed]) => {
        const stretch = (seq: number) => ({ from: seq, to: seq, bytes: all[seq - 1] ?? 0 })
        const oneByOne = processed.reduce((known, seq) => alsoProcessed(known, [stretch(seq)]), none)
        const atOnce = alsoProcessed(none, processed.toSorted((a, b) => a - b).map(stretch))
        const sum = all.reduce((bytes, size) => bytes + size, 0)
        const rest = processed.reduce((bytes, seq) => bytes - (all[seq - 1] ?? 0), sum)
        for (const known of [oneByOne, atOnce]) {
          const left = waitingUpTo(known, { seq: all.length, bytes: sum })
          expect(left).toEqual({ waiting: all.length - processed.length, bytes: rest })
          expect(known.to).toEqual(oneByOne.to)
          expect(new Map([...known.beyond].sort(([a], [b]) => a - b))).toEqual(
            new Map([...oneByOne.beyond].sort(([a], [b]) => a - b)),
          )
        }
      }),
    )
  })
})

describe('a write-ahead log', () => {
  let folder: string
  let positions: WalPositions
  const open: WalWriter[] = []
  let said: string[]
  const log = pino(
    { base: null },
    { write: (line: string) => void said.push((JSON.parse(line) as { msg: string }).msg) },
  )
  /** Often, so that what must not be erased has its chances to be, ms. */
  const tidyEvery = 50

  beforeEach(() => {
    folder = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-wal-')), 'inbox')
    positions = walPositions()
    said = []
  })
  afterEach(async () => {
    for (const writer of open.splice(0)) await writer.close()
    rmSync(path.dirname(folder), { recursive: true })
  })

  function writer(): WalWriter {
    const one = openWalWriter(folder, positions, { tidyEvery, log })
    open.push(one)
    return one
  }

  /** As a process that begins: knows nothing but what is on the disk. */
  function begin(processed = 0): WalWriter {
    positions = walPositions()
    positions.moveEnd(endOfWal(folder).position ?? { seq: 0, bytes: 0 })
    positions.moveProcessed(processed)
    return writer()
  }

  function all(after = 0): WalRecord[] {
    const reader = readWal(folder, after)
    const found: WalRecord[] = []
    for (let next = reader.peek(positions.end.seq); next !== undefined; next = reader.peek(positions.end.seq)) {
      // A comparison of megabytes byte by byte, as `toEqual` does it, takes seconds.
      const { delivery: again, ...others } = readAgain(next.place, next.record.seq)!
      const { delivery: first, ...same } = next.record
      expect(others).toEqual(same)
      expect(Buffer.compare(again.body, first.body)).toBe(0)
      expect({ ...again, body: undefined }).toEqual({ ...first, body: undefined })
      found.push(next.record)
      reader.pass()
    }
    reader.close()
    return found
  }

  const keys = (found: readonly WalRecord[]): (string | undefined)[] => found.map(one => one.delivery.key)
  const large = 'x'.repeat(3_000_000)

  it('gives back what was appended, in its order and through all its files, from any delivery on', async () => {
    const wal = writer()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      await wal.append([delivery(`${name}1`, large), delivery(`${name}2`)], 5)
    }
    expect(listSegments(folder).length).toBeGreaterThan(1)
    const found = all()
    expect(keys(found).slice(0, 4)).toEqual(['a1', 'a2', 'b1', 'b2'])
    expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1))
    expect(endOf(found.at(-1)!)).toEqual(positions.end)
    for (const after of [1, 9, 15]) expect(keys(all(after))).toEqual(keys(found).slice(after))
    expect(wal.size).toBe(walBytes(folder))
  })

  it('hands out nothing that is not yet on the disk for sure', async () => {
    const wal = writer()
    await wal.append([delivery('a')], 1)
    const reader = readWal(folder, 0)
    reader.peek(1)
    // The bytes of this one are in the file, and may be taken back.
    const [segment] = listSegments(folder)
    const refused = { seq: 2, bytesBefore: 12, receivedAt: 1, delivery: delivery('refused') }
    appendFileSync(segment!.file, Buffer.concat(encodeRecord(refused, segment!.salt)))
    reader.pass()
    expect(reader.peek(1)).toBeUndefined()
    await wal.append([delivery('b')], 1)
    expect(reader.peek(2)?.record.delivery.key).toBe('b')
    reader.close()
  })

  it('is synced by the thread that writes it, and waits for nothing that keeps the pool of threads busy', async () => {
    const wal = writer()
    let finished = 0
    // More than the pool has threads, as compressions of exports are.
    const busy = Array.from({ length: 8 }, async () => {
      await promisify(pbkdf2)('a secret', 'some salt', 10_000, 64, 'sha512')
      finished += 1
    })
    await wal.append([delivery('a')], 1)
    expect(finished).toBe(0)
    await Promise.all(busy)
    expect(keys(all())).toEqual(['a'])
  })

  it('goes on behind what a death cut off', async () => {
    await writer().append([delivery('a'), delivery('b'), delivery('c')], 1)
    const { file } = listSegments(folder)[0]!
    truncateSync(file, statSync(file).size - 1)
    const next = begin()
    expect(positions.end.seq).toBe(2)
    await next.append([delivery('d')], 2)
    expect(all().map(({ seq, delivery: { key } }) => [seq, key])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'd'],
    ])
  })

  it('passes over what cannot be read back, and its numbers say how many those are', async () => {
    const wal = writer()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await wal.append([delivery(name, large)], 5)
    const { file } = listSegments(folder)[0]!
    const bytes = readFileSync(file)
    bytes[3_500_000] = 0
    writeFileSync(file, bytes)
    const found = all()
    expect(keys(found)).toEqual(['a', 'c', 'd', 'e', 'f', 'g', 'h'])
    expect(found.map(({ seq }) => seq)).toEqual([1, 3, 4, 5, 6, 7, 8])
  })

  it('erases a file once all in it is processed, and the last one when nothing more comes', async () => {
    const wal = writer()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await wal.append([delivery(name, large)], 5)
    const [first, second] = listSegments(folder)
    positions.moveProcessed(second!.first - 1)
    await expect.poll(() => listSegments(folder).map(({ file }) => file)).toEqual([second!.file])
    expect(first!.file).not.toBe(second!.file)
    await expect.poll(() => wal.size).toBe(walBytes(folder))
    positions.moveProcessed(8)
    await expect.poll(() => wal.size).toBe(0)
    await wal.append([delivery('i')], 6)
    expect(keys(all(8))).toEqual(['i'])
  })

  it('does not take for spent what a dead process had made and this one goes on with', async () => {
    await writer().append([delivery('a')], 1)
    positions.moveProcessed(1)
    // What it has goes to the next file, which is empty when the process dies.
    await expect.poll(() => listSegments(folder).map(({ first }) => first)).toEqual([2])
    await open.pop()?.close()
    const next = writer()
    await sleep(3 * tidyEvery)
    await next.append([delivery('b')], 2)
    await sleep(3 * tidyEvery)
    expect(keys(all(1))).toEqual(['b'])
  })

  it('keeps what is not processed, however long nothing comes', async () => {
    const wal = writer()
    await wal.append([delivery('a')], 1)
    await sleep(5 * tidyEvery)
    expect(keys(all())).toEqual(['a'])
    expect(wal.size).toBeGreaterThan(0)
  })

  it('is for its user alone', async () => {
    await writer().append([delivery('a')], 1)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(listSegments(folder)[0]!.file).mode & 0o777).toBe(0o600)
  })

  it.each(['its file', 'its folder'])('writes again what waits when somebody takes away %s', async what => {
    const wal = writer()
    await wal.append([delivery('a'), delivery('b')], 1)
    positions.moveProcessed(1)
    rmSync(what === 'its file' ? listSegments(folder)[0]!.file : folder, { recursive: true })
    await wal.append([delivery('c')], 2)
    expect(keys(all())).toEqual(['a', 'b', 'c'])
    expect(said).toEqual(['a file of the write-ahead log was removed; its pending deliveries were written again'])
    // And where nothing comes, too.
    rmSync(folder, { recursive: true })
    await expect.poll(() => keys(all())).toEqual(['a', 'b', 'c'])
    await wal.append([delivery('d')], 2)
    expect(keys(all(2))).toEqual(['c', 'd'])
  })

  it('writes again files that are full and wait, those of an earlier life too', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const first = writer()
    for (const name of names) await first.append([delivery(name, large)], 5)
    await open.pop()?.close()
    const next = begin()
    await next.append([delivery('i')], 6)
    rmSync(folder, { recursive: true })
    await next.append([delivery('j')], 6)
    expect(keys(all())).toEqual([...names, 'i', 'j'])
    await expect.poll(() => next.size).toBe(walBytes(folder))
  })

  it('writes them again before a new file is begun, which would hide that they are gone', async () => {
    const wal = writer()
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const filled = (): boolean => statSync(listSegments(folder)[0]!.file).size >= 16 * 2 ** 20
    let count = 0
    for (; count < names.length && !(count > 0 && filled()); count += 1)
      await wal.append([delivery(names[count], large)], 5)
    expect(filled()).toBe(true)
    rmSync(folder, { recursive: true })
    await wal.append([delivery('last')], 6)
    expect(keys(all())).toEqual([...names.slice(0, count), 'last'])
  })

  it('writes again as many of them as it can, and the others as soon as it can', async () => {
    for (const name of ['a', 'b', 'c']) {
      await open.pop()?.close()
      await begin().append([delivery(name)], 1)
    }
    const [, second] = listSegments(folder).map(({ file }) => file)
    rmSync(folder, { recursive: true })
    mkdirSync(folder)
    // Every name that it may get is taken.
    const taken = ['', ...Array.from({ length: 99 }, (_, at) => `-${at + 1}`)].map(end =>
      second!.replace('.wal', `${end}.wal`),
    )
    for (const file of taken) writeFileSync(file, 'not ours')
    const [wal] = open
    const { looks } = positions
    for (let count = 0; count < 3; count += 1) await expect(wal!.prove(1)).rejects.toThrow(/EEXIST/)
    expect(positions.looks).toBe(looks)
    for (const file of taken) rmSync(file)
    await wal!.prove(1)
    expect(keys(all())).toEqual(['a', 'b', 'c'])
    expect(listSegments(folder).length).toBe(3)
  })

  it('keeps two files that begin with the same number until both are spent', async () => {
    const wal = writer()
    await wal.append([delivery('a')], 1)
    // Mounted over, and given back: the older one has its name again.
    renameSync(folder, `${folder}-covered`)
    await wal.append([delivery('b')], 1)
    rmSync(folder, { recursive: true })
    renameSync(`${folder}-covered`, folder)
    await wal.append([delivery('c')], 1)
    expect(listSegments(folder).map(({ first }) => first)).toEqual([1, 1])
    await open.pop()?.close()
    begin()
    // By then it has been tidied, too.
    await expect.poll(() => positions.looks).toBeGreaterThan(2)
    expect(keys(all())).toEqual(['a', 'b', 'c'])
    positions.moveProcessed(3)
    await expect.poll(() => listSegments(folder).map(({ first }) => first)).toEqual([4])
  })

  it.each(['comes back', 'does not come back'])('waits for a file that it cannot write again: it %s', async what => {
    // Of so many files descriptors are not kept.
    for (let count = 0; count < 18; count += 1) {
      await open.pop()?.close()
      await begin().append([delivery(`of life ${count}`)], 1)
    }
    const patience = what === 'comes back' ? 60_000 : 0
    await open.pop()?.close()
    const wal = openWalWriter(folder, positions, { tidyEvery: 60_000, log, patience })
    open.push(wal)
    const { file } = listSegments(folder)[0]!
    renameSync(file, `${file}.away`)
    const { looks } = positions
    await wal.prove(1)
    if (what === 'comes back') {
      expect(positions.looks).toBe(looks)
      renameSync(`${file}.away`, file)
      await wal.prove(1)
      expect(said).toEqual([])
    } else {
      expect(said).toEqual(['files of the write-ahead log are gone, with their pending deliveries'])
    }
    expect(positions.looks).toBe(looks + 1)
  })

  it('leaves nothing that waits without a file when it is closed', async () => {
    await writer().append([delivery('a')], 1)
    rmSync(folder, { recursive: true })
    await open.pop()?.close()
    expect(keys(all())).toEqual(['a'])
  })

  it('is read on by whoever reads it while its files are taken away', async () => {
    const wal = writer()
    await wal.append([delivery('a'), delivery('b')], 1)
    const reader = readWal(folder, 0)
    expect(reader.peek(positions.end.seq)?.record.delivery.key).toBe('a')
    reader.pass()
    rmSync(folder, { recursive: true })
    await wal.append([delivery('c')], 1)
    for (const key of ['b', 'c']) {
      expect(reader.peek(positions.end.seq)?.record.delivery.key).toBe(key)
      reader.pass()
    }
    expect(reader.peek(positions.end.seq)).toBeUndefined()
    reader.close()
  })

  it('leaves alone what somebody has put in the place of a file, and goes on in another', async () => {
    const wal = writer()
    await wal.append([delivery('a')], 1)
    const { file } = listSegments(folder)[0]!
    rmSync(file)
    writeFileSync(file, 'not ours')
    await wal.append([delivery('b')], 1)
    expect(readFileSync(file, 'utf8')).toBe('not ours')
    expect(keys(all())).toEqual(['a', 'b'])
  })

  it('accepts nothing while there is no folder for it, survives that, and goes on as soon as there is one', async () => {
    const wal = writer()
    await wal.append([delivery('a')], 1)
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'in the way')
    await expect(wal.append([delivery('b')], 1)).rejects.toThrow(/EEXIST|ENOTDIR/)
    await expect(wal.prove(1)).rejects.toThrow(/EEXIST|ENOTDIR/)
    await expect.poll(() => said).toContain('old files of the write-ahead log cannot be removed')
    expect(positions.end.seq).toBe(1)
    rmSync(folder)
    await wal.append([delivery('c')], 1)
    expect(all().map(({ seq, delivery: { key } }) => [seq, key])).toEqual([
      [1, 'a'],
      [2, 'c'],
    ])
  })

  it('erases the others where one of its files cannot be erased', async () => {
    const wal = writer()
    mkdirSync(path.join(folder, `${'0'.repeat(16)}-00000000.wal`))
    await open.pop()?.close()
    const next = begin()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await next.append([delivery(name, large)], 5)
    positions.moveProcessed(7)
    expect(wal).not.toBe(next)
    await expect.poll(() => listSegments(folder).length).toBe(2)
    await expect.poll(() => said).toContain('old files of the write-ahead log cannot be removed')
  })
})

describe('a damaged write-ahead log', () => {
  let folder: string
  let file: string
  let whole: Buffer
  const bodies = ['a', 'b', 'c']

  beforeAll(async () => {
    folder = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-damage-')), 'inbox')
    const positions = walPositions()
    const wal = openWalWriter(folder, positions)
    // A body may be made by somebody who knows what a record looks like: no part of one is ever taken for a record.
    const forged = encodeRecord({ seq: 2, bytesBefore: 0, receivedAt: 1, delivery: delivery('forged') }, salt)
    for (const name of bodies) {
      await wal.append([{ ...delivery(name), body: Buffer.concat([Buffer.from(name), ...forged]) }], 7)
    }
    await wal.close()
    file = listSegments(folder)[0]!.file
    whole = readFileSync(file)
  })
  afterAll(() => rmSync(path.dirname(folder), { recursive: true }))

  function read(bytes: Buffer): { keys: (string | undefined)[]; unread: number } {
    writeFileSync(file, bytes)
    const reader = readWal(folder, 0)
    const keys: (string | undefined)[] = []
    let unread = 0
    for (let next = reader.peek(bodies.length); next !== undefined; next = reader.peek(bodies.length)) {
      keys.push(next.record.delivery.key)
      expect(Buffer.from(next.record.delivery.body.subarray(0, 1)).toString()).toBe(next.record.delivery.key)
      unread += next.unread.reduce((sum, one) => sum + one.bytes, 0)
      reader.pass()
    }
    unread += (reader.instead(bodies.length) ?? []).reduce((sum, one) => sum + one.bytes, 0)
    reader.close()
    return { keys, unread }
  }

  it('loses the one record in which a byte changed, wherever that is, and no other', () => {
    const length = whole.length / bodies.length
    expect(Number.isInteger(length)).toBe(true)
    for (let at = 0; at < whole.length; at += 1) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      const lost = Math.floor(at / length)
      expect(read(bytes)).toEqual({ keys: bodies.filter((_, one) => one !== lost), unread: length })
    }
  })

  it('loses what stretches of other bytes lie over, and invents nothing', () => {
    const length = whole.length / bodies.length
    const stretch = fc.tuple(fc.nat(whole.length - 1), fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.boolean())
    fc.assert(
      fc.property(fc.array(stretch, { minLength: 1, maxLength: 3 }), stretches => {
        const bytes = Buffer.from(whole)
        for (const [at, other, isZero] of stretches)
          bytes.fill(isZero ? 0 : Buffer.from(other), at, Math.min(at + other.length, bytes.length))
        const isWhole = (one: number): boolean => {
          const [from, to] = [one * length, (one + 1) * length]
          return bytes.subarray(from, to).equals(whole.subarray(from, to))
        }
        const kept = bodies.filter((_, one) => isWhole(one))
        expect(read(bytes)).toEqual({ keys: kept, unread: (bodies.length - kept.length) * length })
      }),
    )
  })

  it('is read where the disk gives back only a part of it', () => {
    rmSync(file)
    // Reading the first bytes of a process's memory fails as a bad sector does.
    symlinkSync('/proc/self/mem', file)
    try {
      const descriptor = openSegment({ file })!
      expect(readBytes(descriptor, 0, 10_000)).toEqual(Buffer.alloc(10_000))
      closeSync(descriptor)
    } finally {
      rmSync(file)
    }
    folderAt(file)
    const other = path.join(folder, path.basename(file).replace(/^\d{16}/, '0'.repeat(15) + '2'))
    writeFileSync(other, whole.subarray(whole.length / bodies.length))
    const reader = readWal(folder, 0)
    const next = reader.peek(bodies.length)
    expect(next?.record.delivery.key).toBe('b')
    expect(next?.unread).toMatchObject([{ file, offset: 0, isTorn: false }])
    reader.close()
    rmSync(file, { recursive: true })
    rmSync(other)
  })
})
