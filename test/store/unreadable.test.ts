// A store whose journal is damaged, in part or for the moment: what can be read of it is worked off, what cannot is counted and said, and
// no number is given twice.
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { delivery } from './exercise.ts'
import { journalFolder, listSegments } from '../../src/store/sqlite/wal/segments.ts'
import { journalMarks } from '../../src/store/sqlite/wal/positions.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteDoor } from '../../src/store/sqlite/inbox-writer.ts'
import { UnreadableError } from '../../src/lib/fault.ts'
import type { InboxDoor, InboxItem } from '../../src/store/ports/inbox.ts'
import type { Store } from '../../src/store/ports/store.ts'

let folder: string
let file: string
let store: Store
let door: InboxDoor
let said: { msg: string; deliveries?: number; unread?: readonly { file: string; offset: number; bytes: number }[] }[]

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pipespan-unreadable-'))
  file = path.join(folder, 'pipespan.db')
  said = []
  open()
})
afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true })
})

function open(): void {
  const marks = journalMarks()
  const log = pino({ base: null }, { write: (line: string) => void said.push(JSON.parse(line) as (typeof said)[0]) })
  const options = { now: () => Date.now(), maxSize: 2 ** 30, log }
  store = openSqlite(file, options, marks)
  door = openSqliteDoor(file, options, marks)
}

async function close(): Promise<void> {
  await door.close()
  await store.close()
}

const put = async (...names: string[]) => door.put(names.map(name => delivery(name)))
const segments = () => listSegments(journalFolder(file)).map(one => one.file)
const lost = async () => (await store.counters.all()).get('pruned.unreadable_deliveries')

async function workOff(): Promise<[number, string | undefined][]> {
  const { token, items } = await store.inbox.lease(100, 1e9, 60_000)
  await store.inbox.erase(
    token,
    items.map(({ id }) => id),
  )
  return items.map(({ id, key }: InboxItem) => [id, key])
}

/** Changes one byte of a delivery in the file, by what its body holds. */
function damage(name: string, at = segments().at(-1)!): void {
  const bytes = readFileSync(at)
  const place = bytes.indexOf(`{"name":"${name}"}`)
  bytes[place] = bytes[place]! ^ 1
  writeFileSync(at, bytes)
}

describe('one damaged delivery', () => {
  it.each(['the first', 'one in the middle', 'the last'])('is passed over, counted and told of: %s', async which => {
    const damaged = { 'the first': 'a', 'one in the middle': 'b', 'the last': 'c' }[which]!
    await put('a', 'b', 'c')
    const { size } = statSync(segments()[0]!)
    damage(damaged)
    const names = ['a', 'b', 'c']
    expect(await workOff()).toEqual(names.flatMap((name, at) => (name === damaged ? [] : [[at + 1, name]])))
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect(await lost()).toBe(1)
    const place = { file: segments()[0]!, offset: (names.indexOf(damaged) * size) / 3, bytes: size / 3 }
    expect(said).toMatchObject([
      { deliveries: 1, unread: [place], msg: expect.stringMatching(/cannot be read/) as string },
    ])
    await put('d')
    expect(await workOff()).toEqual([[4, 'd']])
  })

  it.each([
    ['the first', 'a', [2, 3]],
    ['one in the middle', 'b', [1, 3]],
  ])('after a start too, and the rest of its file stays: %s', async (_, damaged, rest) => {
    await put('a', 'b', 'c')
    await close()
    damage(damaged)
    open()
    await put('d')
    expect((await workOff()).map(([id]) => id)).toEqual([...rest, 4])
    expect(await lost()).toBe(1)
  })

  it('that was the last before a start leaves its number to nobody else', async () => {
    await put('a', 'b')
    await put('c')
    const [before] = segments()
    const whole = readFileSync(before!)
    await close()
    damage('c')
    open()
    expect(await lost()).toBe(1)
    expect(said).toMatchObject([{ deliveries: 1, unread: [{ file: before }] }])
    await put('d')
    // The disk gives back again what it did not: it is not taken for what came since.
    writeFileSync(before!, whole)
    const found = await workOff()
    expect(found.map(([, key]) => key)).toEqual(['a', 'b', 'd'])
    expect(found.at(-1)![0]).toBeGreaterThan(3)
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    await close()
    open()
    expect(await lost()).toBe(1)
    expect(await workOff()).toEqual([])
  })

  it('whose first record is damaged does not cost the file', async () => {
    await put('a')
    const [before] = segments()
    await close()
    damage('a')
    const bytes = readFileSync(before!)
    open()
    expect(readFileSync(before!).equals(bytes)).toBe(true)
    await put('b')
    expect((await workOff()).map(([, key]) => key)).toEqual(['b'])
  })

  it('that was handed out already is not waited for', async () => {
    await put('a', 'b')
    const { token, items } = await store.inbox.lease(100, 1e9, 0)
    damage('a')
    await store.inbox.erase(token, [items[1]!.id])
    expect(await workOff()).toEqual([])
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect(await lost()).toBe(1)
  })
})

it('a file that is nowhere any more is told of, and counted by its numbers', async () => {
  await put('a', 'b')
  await close()
  open()
  await put('c')
  const [first] = segments()
  await close()
  rmSync(first!)
  open()
  expect(await workOff()).toEqual([[3, 'c']])
  expect(await lost()).toBe(2)
  expect(said).toMatchObject([{ deliveries: 2, from: 1, to: 2 }])
})

it('what is only away for the moment is waited for, and after a minute the daemon is not ready', async () => {
  await put('a')
  const here = journalFolder(file)
  renameSync(here, `${here}-away`)
  // Nobody can make it anew.
  writeFileSync(here, 'in the way')
  vi.useFakeTimers({ toFake: ['hrtime'] })
  try {
    vi.advanceTimersByTime(1_000)
    expect(await workOff()).toEqual([])
    for (const one of [store, door]) await expect(one.proveWritable()).rejects.not.toBeInstanceOf(UnreadableError)
    vi.advanceTimersByTime(61_000)
    expect(await workOff()).toEqual([])
    for (const one of [store, door]) await expect(one.proveWritable()).rejects.toBeInstanceOf(UnreadableError)
    rmSync(here)
    renameSync(`${here}-away`, here)
    expect(await workOff()).toEqual([[1, 'a']])
    for (const one of [store, door]) await expect(one.proveWritable()).resolves.toBeUndefined()
    expect(await lost()).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})

it('a file that is a folder stops nothing', async () => {
  await put('a')
  const [only] = segments()
  await close()
  rmSync(only!)
  mkdirSync(only!)
  open()
  await put('b')
  expect((await workOff()).map(([, key]) => key)).toEqual(['b'])
  expect(await lost()).toBe(1)
  rmSync(only!, { recursive: true })
})
