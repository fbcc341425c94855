// A store whose WAL is damaged, in part or for the moment: what can be read of it is worked off, what cannot is counted and said, and
// no number is given twice.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { UnreadableError } from '../../src/lib/fault.ts'
import { folderAt, WithWal } from './with-wal.ts'

let all: WithWal
beforeEach(() => {
  all = new WithWal()
})
afterEach(async () => all.remove())

/** Changes one byte of a delivery in the file, by what its body holds. */
function damage(name: string, at = all.segments().at(-1)!): void {
  const bytes = readFileSync(at)
  const place = bytes.indexOf(`{"name":"${name}"}`)
  bytes[place] = bytes[place]! ^ 1
  writeFileSync(at, bytes)
}

describe('one damaged delivery', () => {
  it.each(['the first', 'one in the middle', 'the last'])('is passed over, counted and logged: %s', async which => {
    const damaged = { 'the first': 'a', 'one in the middle': 'b', 'the last': 'c' }[which]!
    await all.put('a', 'b', 'c')
    const { size } = statSync(all.segments()[0]!)
    damage(damaged)
    const names = ['a', 'b', 'c']
    expect(await all.workOff()).toEqual(names.flatMap((name, at) => (name === damaged ? [] : [[at + 1, name]])))
    await all.look()
    expect(await all.workOff()).toEqual([])
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect(await all.lost()).toBe(1)
    const place = { file: all.segments()[0]!, offset: (names.indexOf(damaged) * size) / 3, bytes: size / 3 }
    expect(all.said).toMatchObject([
      { deliveries: 1, unread: [place], msg: expect.stringMatching(/cannot be read/) as string },
    ])
    await all.put('d')
    expect(await all.workOff()).toEqual([[4, 'd']])
  })

  it.each([
    ['the first', 'a', [2, 3]],
    ['one in the middle', 'b', [1, 3]],
  ])('after a start too, and the rest of its file stays: %s', async (_, damaged, rest) => {
    await all.put('a', 'b', 'c')
    await all.close()
    damage(damaged)
    all.open()
    await all.put('d')
    expect((await all.workOff()).map(([id]) => id)).toEqual([...rest, 4])
    expect(await all.lost()).toBe(1)
  })

  it('that was the last before a start leaves its number to nobody else', async () => {
    await all.put('a', 'b')
    await all.put('c')
    const [before] = all.segments()
    const whole = readFileSync(before!)
    await all.close()
    damage('c')
    all.open()
    expect(await all.lost()).toBe(1)
    expect(all.said).toMatchObject([{ deliveries: 1, unread: [{ file: before }] }])
    await all.put('d')
    // The disk gives back again what it did not: it is not taken for what came since.
    writeFileSync(before!, whole)
    const found = await all.workOff()
    expect(found.map(([, key]) => key)).toEqual(['a', 'b', 'd'])
    expect(found.at(-1)![0]).toBeGreaterThan(3)
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    await all.close()
    all.open()
    expect(await all.lost()).toBe(1)
    expect(await all.workOff()).toEqual([])
  })

  it('whose first record is damaged does not cost the file', async () => {
    await all.put('a')
    const [before] = all.segments()
    await all.close()
    damage('a')
    const bytes = readFileSync(before!)
    all.open()
    expect(readFileSync(before!).equals(bytes)).toBe(true)
    await all.put('b')
    expect((await all.workOff()).map(([, key]) => key)).toEqual(['b'])
  })

  it('that was handed out already is not waited for', async () => {
    await all.put('a', 'b')
    const { token, items } = await all.store.inbox.lease(100, 1e9, 0)
    damage('a')
    await all.store.inbox.erase(token, [items[1]!.id])
    expect(await all.workOff()).toEqual([])
    expect(await all.lost()).toBeUndefined()
    await all.look()
    expect(await all.workOff()).toEqual([])
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect(await all.lost()).toBe(1)
  })

  it('before one that was processed earlier is not waited for after a start', async () => {
    await all.put('a', 'b', 'c')
    const { token, items } = await all.store.inbox.lease(100, 1e9, 60_000)
    await all.store.inbox.erase(token, [items[2]!.id])
    await all.close()
    damage('b', all.segments()[0])
    all.open()
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 2, waitingBytes: 24 })
    // What was being read when a process ended is read alone.
    expect(await all.workOff()).toEqual([[1, 'a']])
    expect(await all.workOff()).toEqual([])
    expect(await all.lost()).toBe(1)
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
  })
})

it('a file that is nowhere any more is logged, and counted by its numbers', async () => {
  await all.put('a', 'b')
  await all.close()
  all.open()
  await all.put('c')
  const [first] = all.segments()
  await all.close()
  rmSync(first!)
  all.open()
  expect(await all.workOff()).toEqual([])
  expect(await all.lost()).toBeUndefined()
  await all.look()
  expect(await all.workOff()).toEqual([[3, 'c']])
  expect(await all.lost()).toBe(2)
  expect(all.said).toMatchObject([{ deliveries: 2, from: 1, to: 2 }])
})

it('files that were swapped are counted and logged with their names, and nothing of them is taken for something else', async () => {
  await all.put('a', 'b')
  await all.close()
  all.open()
  await all.put('c')
  const [first, second] = all.segments()
  await all.close()
  renameSync(first!, `${first}.away`)
  renameSync(second!, first!)
  renameSync(`${first}.away`, second!)
  all.open()
  await all.put('d')
  expect(await all.workOff()).toEqual([])
  await all.look()
  expect((await all.workOff()).map(([, key]) => key)).toEqual(['d'])
  // In the file that begins with 3 are two that cannot be read: nobody can tell that 4 was never given.
  expect(await all.lost()).toBe(4)
  const logged = all.said.flatMap(({ unread = [] }) => unread.map(({ file }) => file))
  expect(new Set(logged)).toEqual(new Set([first, second]))
})

it('what is only away for the moment is waited for, and after a minute the daemon is not ready', async () => {
  await all.put('a')
  const here = all.folder
  renameSync(here, `${here}-away`)
  // Nobody can make it anew.
  writeFileSync(here, 'in the way')
  vi.useFakeTimers({ toFake: ['hrtime'] })
  try {
    vi.advanceTimersByTime(1_000)
    expect(await all.workOff()).toEqual([])
    for (const one of [all.store, all.writer])
      await expect(one.proveWritable()).rejects.not.toBeInstanceOf(UnreadableError)
    vi.advanceTimersByTime(61_000)
    expect(await all.workOff()).toEqual([])
    for (const one of [all.store, all.writer]) await expect(one.proveWritable()).rejects.toBeInstanceOf(UnreadableError)
    rmSync(here)
    renameSync(`${here}-away`, here)
    expect(await all.workOff()).toEqual([[1, 'a']])
    for (const one of [all.store, all.writer]) await expect(one.proveWritable()).resolves.toBeUndefined()
    expect(await all.lost()).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})

it('a file that is a folder stops nothing', async () => {
  await all.put('a')
  const [only] = all.segments()
  await all.close()
  rmSync(only!)
  folderAt(only!)
  all.open()
  await all.put('b')
  expect((await all.workOff()).map(([, key]) => key)).toEqual(['b'])
  expect(await all.lost()).toBe(1)
  rmSync(only!, { recursive: true })
})
