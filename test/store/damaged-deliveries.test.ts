// Files of accepted deliveries whose pages are damaged anywhere: all that is not in a damaged page is found, as it was written, and nothing else.
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { alsoProcessed, waitingUpTo, type Checkpoint } from '../../src/store/sqlite/deliveries/checkpoint.ts'
import { createDeliveryFile, openToWrite, type DeliveryFile } from '../../src/store/sqlite/deliveries/files.ts'
import { openRaw } from '../../src/store/sqlite/deliveries/raw.ts'
import {
  insertDelivery,
  pageBytes,
  storedDelivery,
  valuesOf,
  type StoredDelivery,
} from '../../src/store/sqlite/deliveries/rows.ts'
import { WithDeliveries } from './with-deliveries.ts'

const frameBytes = pageBytes + 24

/** A body of this length, of which every page that has a part of it has a mark that no other delivery has. */
function bodyOf(seq: number, length: number): Buffer {
  return Buffer.alloc(length, markOf(seq))
}

function markOf(seq: number): Buffer {
  return Buffer.from(`<${String(seq).padStart(4, '0')}>`)
}

const lengths = fc.array(
  fc.oneof(fc.integer({ min: 12, max: 300 }), fc.integer({ min: 10_000, max: 17_000 }), fc.constant(60_000)),
  { minLength: 1, maxLength: 12 },
)

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

/** A file as a killed process leaves it: the first `written` deliveries are in it, the others in SQLite's log, each in a transaction of its own. */
function killedWith(all: readonly StoredDelivery[], written: number): DeliveryFile {
  const live = createDeliveryFile(path.join(folder, 'live'))
  const connection = openToWrite(live)
  const insert = connection.prepare(insertDelivery)
  for (const [at, one] of all.entries()) {
    if (at === written) connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    insert.run(...valuesOf(one, live.salt))
  }
  if (written >= all.length) connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const killed = { ...live, path: path.join(folder, path.basename(live.path)) }
  for (const end of ['', '-wal']) cpSync(`${live.path}${end}`, `${killed.path}${end}`)
  connection.close()
  rmSync(path.join(folder, 'live'), { recursive: true })
  return killed
}

function deliveriesOf(sizes: readonly number[]): StoredDelivery[] {
  return sizes.map((size, at) => ({
    seq: at + 1,
    bytesBefore: sizes.slice(0, at).reduce((sum, one) => sum + one, 0),
    receivedAt: 1_780_000_000_000 + at,
    delivery: {
      key: at % 3 === 0 ? undefined : `key ${at}`,
      event: 'Pipeline Hook',
      instance: at % 2 === 0 ? undefined : 'https://git.example.com',
      source: 'webhook',
      body: bodyOf(at + 1, size),
    },
  }))
}

function found(file: DeliveryFile, isWhole?: boolean): Map<number, StoredDelivery> {
  const raw = openRaw(file)
  try {
    if (isWhole !== undefined) expect(raw.isWhole()).toBe(isWhole)
    return new Map([...raw.deliveries(() => true)].map(one => [one.seq, one]))
  } finally {
    raw.close()
  }
}

/** Where the pages of a file or log are. */
function placesOf(file: string): number[] {
  if (!existsSync(file)) return []
  const isLog = file.endsWith('-wal')
  const count = Math.floor((statSync(file).size - (isLog ? 32 : 0)) / (isLog ? frameBytes : pageBytes))
  return Array.from({ length: count }, (_, at) => (isLog ? 32 + 24 + at * frameBytes : at * pageBytes))
}

describe('a delivery file that is read without SQLite', () => {
  const files = lengths.chain(sizes => fc.tuple(fc.constant(sizes), fc.nat(sizes.length)))

  it('yields every delivery, from the file and from the log of a killed process', () => {
    fc.assert(
      fc.property(files, ([sizes, written]) => {
        const all = deliveriesOf(sizes)
        const file = killedWith(all, written)
        expect([...found(file, true).values()].sort((a, b) => a.seq - b.seq)).toEqual(all)
      }),
      { numRuns: 30 },
    )
  })

  it('loses only the deliveries in a damaged page, and invents none, whatever the bytes', () => {
    const blows = fc.record({
      at: fc.nat(),
      from: fc.nat(pageBytes - 1),
      bytes: fc.uint8Array({ minLength: 1, maxLength: pageBytes }),
    })
    fc.assert(
      fc.property(files, fc.constantFrom('', '-wal'), blows, ([sizes, written], end, { at, from, bytes }) => {
        const all = deliveriesOf(sizes)
        const file = killedWith(all, written)
        const name = `${file.path}${end}`
        const places = placesOf(name)
        if (places.length === 0) return
        const place = places[at % places.length] ?? 0
        const content = readFileSync(name)
        const page = content.subarray(place, place + pageBytes)
        const spoilt = all.filter(({ seq }) => page.includes(markOf(seq))).map(({ seq }) => seq)
        page.set(bytes.subarray(0, pageBytes - from), from)
        writeFileSync(name, content)
        const left = found(file)
        for (const one of left.values()) expect(one).toEqual(all[one.seq - 1])
        expect(all.map(({ seq }) => seq).filter(seq => !left.has(seq) && !spoilt.includes(seq))).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  it('does not mistake a part of a body for a delivery', () => {
    const [forged, real] = deliveriesOf([200, 30])
    const other = killedWith([forged!], 1)
    const page = readFileSync(other.path).subarray(-pageBytes)
    rmSync(other.path)
    rmSync(`${other.path}-wal`)
    const body = Buffer.concat([Buffer.alloc(5 * pageBytes), page, page, page])
    // At every offset of a page.
    for (let shift = 0; shift < 64; shift += 1) {
      const file = killedWith([{ ...real!, seq: 7, delivery: { ...real!.delivery, body: body.subarray(shift) } }], 1)
      expect([...found(file).keys()]).toEqual([7])
    }
  })
})

it('detects any change of a row as damage', () => {
  const [one] = deliveriesOf([40])
  const names = ['seq', 'key', 'event', 'instance', 'source', 'received_at', 'bytes_before', 'crc', 'body']
  const row = Object.fromEntries(valuesOf(one!, 7).map((value, at) => [names[at] ?? '', value]))
  expect(storedDelivery(row, 7)).toEqual(one)
  expect(storedDelivery(row, 8)).toBeUndefined()
  for (const name of names) expect(storedDelivery({ ...row, [name]: 'x' }, 7)).toBeUndefined()
})

it('loses only the deliveries in the damaged page of a log after a kill, and reuses no number', async () => {
  const blow = fc.record({ at: fc.nat(), byte: fc.integer({ min: -24, max: pageBytes - 1 }) })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 8 }), blow, async (count, { at, byte }) => {
      const live = new WithDeliveries()
      const names = Array.from({ length: count }, (_, n) => `n${n}${'x'.repeat(9_000)}`)
      for (const name of names) await live.put(name)
      const killed = live.killed()
      const log = `${path.join(`${killed}-deliveries`, path.basename(live.files()[0] ?? ''))}-wal`
      await live.remove()
      const content = readFileSync(log)
      const places = placesOf(log)
      const place = places[at % places.length] ?? 0
      const page = content.subarray(place, place + pageBytes)
      const spoilt = names.filter(name => page.includes(name.slice(0, 3)))
      content[place + byte]! ^= 1
      writeFileSync(log, content)
      const all = new WithDeliveries(killed)
      await all.put('next')
      const keys: (string | undefined)[] = []
      for (let more = await all.workOff(); more.length > 0; more = await all.workOff()) keys.push(...more)
      const lost = names.filter(name => !keys.includes(name))
      expect(lost.filter(name => !spoilt.includes(name))).toEqual([])
      expect(new Set(keys).size).toBe(keys.length)
      expect(keys).toContain('next')
      if (lost.length > 0) expect(await all.lost()).toBeGreaterThan(0)
      await all.remove()
    }),
    { numRuns: 20 },
  )
})

describe('the set of processed deliveries', () => {
  const none: Checkpoint = { to: { seq: 0, bytes: 0 }, beyond: new Map() }

  it('is the same in any order of processing, and all others wait', () => {
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
