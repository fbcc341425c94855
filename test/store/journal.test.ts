// The journal of deliveries: what was appended is read back as it was, whatever was cut off, changed, or understood in between.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { alsoUnderstood, waitingUpTo, type Progress } from '../../src/store/journal/progress.ts'
import { decodeRecord, encodeRecord, endOf, type JournalRecord } from '../../src/store/journal/record.ts'
import { endOfJournal, readAgain, readJournal } from '../../src/store/journal/reader.ts'
import { journalBytes, listSegments } from '../../src/store/journal/segments.ts'
import { journalMarks, type JournalMarks } from '../../src/store/journal/marks.ts'
import { openJournalWriter, type JournalWriter } from '../../src/store/journal/writer.ts'
import { delivery } from './exercise.ts'

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

describe('a record', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(records, record => {
        expect(decodeRecord(Buffer.concat(encodeRecord(record)))).toEqual(record)
      }),
    )
  })

  it('is known as none when any byte of it changed, or it was cut off anywhere', () => {
    fc.assert(
      fc.property(records, fc.nat(), fc.integer({ min: 1, max: 255 }), (record, where, change) => {
        const bytes = Buffer.concat(encodeRecord(record))
        const at = where % bytes.length
        expect(decodeRecord(bytes.subarray(0, at))).toBeUndefined()
        bytes[at] = (bytes[at] ?? 0) ^ change
        expect(decodeRecord(bytes)).toBeUndefined()
      }),
    )
  })
})

describe('what is understood of it', () => {
  const none: Progress = { to: { seq: 0, bytes: 0 }, beyond: new Map() }

  it('is the same in whatever order it came to be, and what waits is the rest', () => {
    const sizes = fc.array(fc.nat(100), { minLength: 1, maxLength: 30 })
    const order = sizes.chain(all => fc.tuple(fc.constant(all), fc.shuffledSubarray(all.map((_, at) => at + 1))))
    fc.assert(
      fc.property(order, ([all, understood]) => {
        const stretch = (seq: number) => ({ from: seq, to: seq, bytes: all[seq - 1] ?? 0 })
        const oneByOne = understood.reduce((known, seq) => alsoUnderstood(known, [stretch(seq)]), none)
        const atOnce = alsoUnderstood(none, understood.toSorted((a, b) => a - b).map(stretch))
        const sum = all.reduce((bytes, size) => bytes + size, 0)
        const rest = understood.reduce((bytes, seq) => bytes - (all[seq - 1] ?? 0), sum)
        for (const known of [oneByOne, atOnce]) {
          const left = waitingUpTo(known, { seq: all.length, bytes: sum })
          expect(left).toEqual({ waiting: all.length - understood.length, bytes: rest })
          expect(known.to).toEqual(oneByOne.to)
          expect(new Map([...known.beyond].sort(([a], [b]) => a - b))).toEqual(
            new Map([...oneByOne.beyond].sort(([a], [b]) => a - b)),
          )
        }
      }),
    )
  })
})

describe('a journal', () => {
  let folder: string
  let marks: JournalMarks
  const open: JournalWriter[] = []
  /** Often, so that what must not be erased has its chances to be, ms. */
  const tidyEvery = 50

  beforeEach(() => {
    folder = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-journal-')), 'inbox')
    marks = journalMarks()
  })
  afterEach(async () => {
    for (const writer of open.splice(0)) await writer.close()
    rmSync(path.dirname(folder), { recursive: true })
  })

  function writer(): JournalWriter {
    const one = openJournalWriter(folder, marks, tidyEvery)
    open.push(one)
    return one
  }

  /** As a process that begins: knows nothing but what is on the disk. */
  function begin(understood = 0): JournalWriter {
    marks = journalMarks()
    marks.moveEnd(endOfJournal(folder) ?? { seq: 0, bytes: 0 })
    marks.moveUnderstood(understood)
    return writer()
  }

  function all(after = 0): JournalRecord[] {
    const reader = readJournal(folder, after)
    const found: JournalRecord[] = []
    for (let next = reader.peek(marks.end.seq); next !== undefined; next = reader.peek(marks.end.seq)) {
      // A comparison of megabytes byte by byte, as `toEqual` does it, takes seconds.
      const { delivery: again, ...others } = readAgain(next.place)!
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

  const keys = (found: readonly JournalRecord[]): (string | undefined)[] => found.map(one => one.delivery.key)
  const large = 'x'.repeat(3_000_000)

  it('gives back what was appended, in its order and through all its files, from any delivery on', async () => {
    const journal = writer()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      await journal.append([delivery(`${name}1`, large), delivery(`${name}2`)], 5)
    }
    expect(listSegments(folder).length).toBeGreaterThan(1)
    const found = all()
    expect(keys(found).slice(0, 4)).toEqual(['a1', 'a2', 'b1', 'b2'])
    expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1))
    expect(endOf(found.at(-1)!)).toEqual(marks.end)
    for (const after of [1, 9, 15]) expect(keys(all(after))).toEqual(keys(found).slice(after))
    expect(journal.size).toBe(journalBytes(folder))
  })

  it('hands out nothing that is not yet on the disk for sure', async () => {
    const journal = writer()
    await journal.append([delivery('a')], 1)
    const reader = readJournal(folder, 0)
    reader.peek(1)
    // The bytes of this one are in the file, and may be taken back.
    appendFileSync(
      listSegments(folder)[0]!.file,
      Buffer.concat(encodeRecord({ seq: 2, bytesBefore: 12, receivedAt: 1, delivery: delivery('refused') })),
    )
    reader.pass()
    expect(reader.peek(1)).toBeUndefined()
    await journal.append([delivery('b')], 1)
    expect(reader.peek(2)?.record.delivery.key).toBe('b')
    reader.close()
  })

  it('goes on behind what a death cut off', async () => {
    await writer().append([delivery('a'), delivery('b'), delivery('c')], 1)
    const { file } = listSegments(folder)[0]!
    truncateSync(file, statSync(file).size - 1)
    const next = begin()
    expect(marks.end.seq).toBe(2)
    await next.append([delivery('d')], 2)
    expect(all().map(({ seq, delivery: { key } }) => [seq, key])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'd'],
    ])
  })

  it('passes over what cannot be read back, and its numbers tell how many those are', async () => {
    const journal = writer()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await journal.append([delivery(name, large)], 5)
    const { file } = listSegments(folder)[0]!
    const bytes = readFileSync(file)
    bytes[3_500_000] = 0
    writeFileSync(file, bytes)
    const found = all()
    expect(keys(found)).toEqual(['a', 'g', 'h'])
    expect(found.map(({ seq }) => seq)).toEqual([1, 7, 8])
  })

  it('erases a file once all in it is understood, and the last one when nothing more comes', async () => {
    const journal = writer()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await journal.append([delivery(name, large)], 5)
    const [first, second] = listSegments(folder)
    marks.moveUnderstood(second!.first - 1)
    await expect.poll(() => listSegments(folder).map(({ file }) => file), { timeout: 5_000 }).toEqual([second!.file])
    expect(first!.file).not.toBe(second!.file)
    await expect.poll(() => journal.size).toBe(journalBytes(folder))
    marks.moveUnderstood(8)
    await expect.poll(() => journal.size, { timeout: 5_000 }).toBe(0)
    await journal.append([delivery('i')], 6)
    expect(keys(all(8))).toEqual(['i'])
  })

  it('does not take for spent what a dead process had made and this one goes on with', async () => {
    await writer().append([delivery('a')], 1)
    marks.moveUnderstood(1)
    // What it has goes to the next file, which is empty when the process dies.
    await expect.poll(() => listSegments(folder).map(({ first }) => first), { timeout: 5_000 }).toEqual([2])
    await open.pop()?.close()
    const next = writer()
    await sleep(3 * tidyEvery)
    await next.append([delivery('b')], 2)
    await sleep(3 * tidyEvery)
    expect(keys(all(1))).toEqual(['b'])
  })

  it('keeps what is not understood, however long nothing comes', async () => {
    const journal = writer()
    await journal.append([delivery('a')], 1)
    await sleep(5 * tidyEvery)
    expect(keys(all())).toEqual(['a'])
    expect(journal.size).toBeGreaterThan(0)
  })

  it('is for its user alone', async () => {
    await writer().append([delivery('a')], 1)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(listSegments(folder)[0]!.file).mode & 0o777).toBe(0o600)
  })
})
