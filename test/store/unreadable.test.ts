// A store whose WAL is damaged, in part or for the moment: what can be read of it is worked off, what cannot is counted and said, set aside
// and read again later, and no number is given twice.
import fs, { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
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
    const found = await all.workOff()
    expect(found.map(([, key]) => key)).toEqual(['a', 'b', 'd'])
    expect(found.at(-1)![0]).toBeGreaterThan(3)
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    await all.close()
    all.open()
    expect(await all.workOff()).toEqual([])
    expect(await all.lost()).toBe(1)
    // The disk gives back again what it did not.
    const [aside] = all.setAside()
    writeFileSync(aside!, whole)
    expect(await all.workOff()).toEqual([])
    all.elapsed += 20_000
    expect((await all.workOff()).map(([, key]) => key)).toEqual(['c'])
    expect(existsSync(aside!)).toBe(false)
    expect(await all.lost()).toBe(1)
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

it('files that were swapped are counted and logged with their names, and processed after the next start', async () => {
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
  await all.close()
  all.open()
  expect((await all.workOff()).map(([, key]) => key).sort()).toEqual(['a', 'b', 'c'])
  expect(all.setAside()).toEqual([])
})

describe('what cannot be read', () => {
  const names = Array.from({ length: 60 }, (_, at) => `key ${at}`)
  const keysOf = (found: readonly [number, string | undefined][]): unknown[] => found.map(([, key]) => key)
  let heal: () => void

  /** A disk that takes what is written and gives nothing back, until it is healed. */
  function failReads(): void {
    const { readSync } = fs
    const read = readSync as (descriptor: number, ...others: unknown[]) => number
    fs.readSync = (descriptor: number, ...others: unknown[]) => {
      if (!fs.readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(all.folder)) return read(descriptor, ...others)
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    }
    syncBuiltinESMExports()
    heal = () => {
      fs.readSync = readSync
      syncBuiltinESMExports()
    }
  }
  afterEach(() => heal())

  /** All of it is given up and set aside: there is nothing to be worked off. */
  async function giveUp(): Promise<void> {
    expect(await all.workOff()).toEqual([])
    await all.look()
    expect(await all.workOff()).toEqual([])
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0 })
    await expect.poll(() => all.segments().length).toBe(1)
    expect(all.setAside()).not.toEqual([])
  }

  it.each(['while the daemon runs', 'after a start'])(
    'is set aside, and processed once when it can be read again: %s',
    async when => {
      await all.put(...names.slice(0, 20))
      await all.workOff()
      await all.put(...names.slice(20))
      await all.close()
      failReads()
      all.open()
      await giveUp()
      if (when === 'after a start') {
        await all.close()
        all.open()
        expect(await all.workOff()).toEqual([])
        await all.close()
        heal()
        all.open()
      } else {
        all.elapsed += 10_000
        expect(await all.workOff()).toEqual([])
        heal()
        all.elapsed += 20_000
      }
      const found = await all.workOff()
      expect(keysOf(found)).toEqual(names.slice(20))
      expect(new Set(await all.put(...names))).toEqual(new Set(['duplicate']))
      expect(all.setAside()).toEqual([])
      expect(await all.lost()).toBeGreaterThan(0)
      expect(all.said.map(({ msg }) => msg)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/cannot be read.*check the disk/),
          expect.stringMatching(/set aside.*delete these files to give the deliveries up/),
          expect.stringMatching(/are readable and are processed now/),
        ]),
      )
      await all.close()
      all.open()
      expect(await all.workOff()).toEqual([])
    },
  )

  it('counts to the size of the store, and is not processed again where it was sent again meanwhile', async () => {
    await all.put('a', 'b')
    await all.close()
    failReads()
    all.open()
    await giveUp()
    expect(await all.store.pruning.fullness()).toBeGreaterThan(0)
    heal()
    expect(await all.put('a')).toEqual(['accepted'])
    expect(keysOf(await all.workOff())).toEqual(['a'])
    all.elapsed += 10_000
    expect(keysOf(await all.workOff())).toEqual(['b'])
  })
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
