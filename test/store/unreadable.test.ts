// Files of accepted deliveries that are damaged, in part or for the moment: what can be read of them is processed, what cannot is counted and said, set
// aside and read again later, and no number is given twice.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { UnreadableError } from '../../src/lib/fault.ts'
import { WithDeliveries } from './with-deliveries.ts'

let all: WithDeliveries
beforeEach(() => {
  all = new WithDeliveries()
})
afterEach(async () => all.remove())

/** Changes the first byte of a delivery's body in the file and in SQLite's log, or changes it back. */
function damage(name: string, file = all.files().at(-1)!, [from, to] = ['{', 'z']): void {
  for (const one of [file, `${file}-wal`].filter(existsSync)) {
    const bytes = readFileSync(one, 'latin1')
    writeFileSync(one, bytes.replaceAll(`${from}"name":"${name}"}`, `${to}"name":"${name}"}`), 'latin1')
  }
}

describe('one damaged delivery', () => {
  it.each([
    ['the first', 'a', [], ['b', 'c']],
    ['one in the middle', 'b', ['a'], ['c']],
    ['the last', 'c', ['a', 'b'], []],
  ])('is skipped, counted and logged: %s', async (_, damaged, before, after) => {
    await all.put('a', 'b', 'c')
    damage(damaged)
    const [file] = all.files()
    expect(await all.workOff()).toEqual(before)
    expect(await all.lost()).toBeUndefined()
    // The writer begins another file.
    await all.tidy()
    await all.put('d')
    expect(await all.workOff()).toEqual([...after, 'd'])
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect(await all.lost()).toBe(1)
    expect(existsSync(file!)).toBe(true)
    expect(all.said).toMatchObject([
      { msg: expect.stringMatching(/damaged: another one is begun/) as string },
      { files: [file], msg: expect.stringMatching(/cannot be read are set aside/) as string },
      { deliveries: 1, msg: expect.stringMatching(/cannot be read and are skipped/) as string },
    ])
  })

  it.each([
    ['the first', 'a', ['b', 'c', 'd']],
    ['one in the middle', 'b', ['a', 'c', 'd']],
    ['the last', 'c', ['a', 'b', 'd']],
  ])('is skipped after a start, and processed once when the disk can read it again: %s', async (_, damaged, rest) => {
    await all.put('a', 'b', 'c')
    await all.close()
    const [file] = all.files()
    damage(damaged)
    all.open()
    await all.put('d')
    const found = await all.workOff()
    await all.tidy()
    for (let more = await all.workOff(); more.length > 0; more = await all.workOff()) found.push(...more)
    expect(found.sort()).toEqual(rest)
    expect(await all.lost()).toBe(1)
    expect(await all.store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    await all.close()
    all.open()
    expect(await all.workOff()).toEqual([])
    expect(await all.lost()).toBe(1)
    damage(damaged, file, ['z', '{'])
    expect(await all.workOff()).toEqual([])
    all.elapsed += 40_000
    expect(await all.workOff()).toEqual([damaged])
    expect(all.said).toContainEqual(
      expect.objectContaining({ deliveries: 1, msg: expect.stringMatching(/are processed now/) as string }),
    )
    expect(await all.put('a', 'b', 'c', 'd')).toEqual(Array.from('abcd', () => 'duplicate'))
  })

  it('does not stop the copy of a store, which has all others', async () => {
    await all.put('a', 'b', 'c')
    await all.writer.close()
    damage('b')
    await expect(all.store.intoTables()).rejects.toThrow(/cannot be read completely: 1 of them are pending/)
    expect(new Set(await all.workOff())).toEqual(new Set(['a', 'c']))
    await all.store.close()
    all.open()
  })
})

it('logs a lost file, and counts its deliveries by their numbers', async () => {
  await all.put('a', 'b', 'c')
  const { token, items } = await all.store.inbox.lease(100, 1e9, 60_000)
  await all.store.inbox.erase(token, [items[2]!.id])
  const [first] = all.files()
  await all.close()
  rmSync(first!)
  all.open()
  // Who copies the store is told.
  await expect(all.store.intoTables()).rejects.toThrow(/cannot be read completely: 2 of them are pending/)
  await all.put('d')
  expect(await all.workOff()).toEqual(['d'])
  expect(await all.lost()).toBe(2)
  expect(all.said).toMatchObject([{ deliveries: 2, from: 1, to: 2 }])
})

it('sets a renamed file aside, and processes it when it has its own name again', async () => {
  await all.put('a', 'b')
  await all.close()
  const [file] = all.files()
  const other = file!.replace(/-[0-9a-f]{8}\.db$/, '-00000000.db')
  renameSync(file!, other)
  all.open()
  await all.put('c')
  expect(await all.workOff()).toEqual(['c'])
  expect(await all.lost()).toBe(1)
  renameSync(other, file!)
  all.elapsed += 20_000
  expect(await all.workOff()).toEqual(['a', 'b'])
  expect(all.files()).toHaveLength(1)
})

describe('a file of which nothing can be read', () => {
  const names = Array.from({ length: 60 }, (_, at) => `key ${at}`)
  let whole: Buffer

  /** The disk gives other bytes back. */
  async function spoil(): Promise<string> {
    await all.close()
    const [file] = all.files()
    whole = readFileSync(file!)
    writeFileSync(file!, Buffer.alloc(whole.length, 1))
    all.open()
    return file!
  }

  it.each(['while the daemon runs', 'after a start'])(
    'is set aside, and processed once when it is readable again: %s',
    async when => {
      await all.put(...names.slice(0, 20))
      await all.workOff()
      await all.put(...names.slice(20))
      const file = await spoil()
      expect(await all.workOff()).toEqual([])
      expect(await all.store.inbox.state()).toMatchObject({ waiting: 0 })
      if (when === 'after a start') {
        await all.close()
        all.open()
        expect(await all.workOff()).toEqual([])
        await all.close()
        writeFileSync(file, whole)
        all.open()
      } else {
        all.elapsed += 10_000
        expect(await all.workOff()).toEqual([])
        writeFileSync(file, whole)
        all.elapsed += 40_000
      }
      expect(await all.workOff()).toEqual(names.slice(20))
      expect(new Set(await all.put(...names))).toEqual(new Set(['duplicate']))
      expect(existsSync(file)).toBe(false)
      expect(await all.lost()).toBeGreaterThan(0)
      await all.close()
      all.open()
      expect(await all.workOff()).toEqual([])
    },
  )

  it('counts towards the size of the store, and is not processed again if its deliveries were resent meanwhile', async () => {
    await all.put('a', 'b')
    const before = await all.store.pruning.fullness()
    const file = await spoil()
    expect(await all.store.pruning.fullness()).toBeGreaterThan(before)
    writeFileSync(file, whole)
    expect(await all.put('a')).toEqual(['accepted'])
    expect(await all.workOff()).toEqual(['a'])
    all.elapsed += 20_000
    expect(await all.workOff()).toEqual(['b'])
  })
})

it('waits for a file that is missing for a moment, and reports not ready after a minute', async () => {
  await all.put('a')
  const here = all.folder
  renameSync(here, `${here}-away`)
  // Nobody can make it anew.
  writeFileSync(here, 'in the way')
  vi.useFakeTimers({ toFake: ['hrtime'] })
  try {
    vi.advanceTimersByTime(1_000)
    await expect(all.workOff()).rejects.toThrow(/is away/)
    for (const one of [all.store, all.writer])
      await expect(one.proveWritable()).rejects.not.toBeInstanceOf(UnreadableError)
    vi.advanceTimersByTime(61_000)
    await expect(all.workOff()).rejects.toThrow(/is away/)
    for (const one of [all.store, all.writer]) await expect(one.proveWritable()).rejects.toBeInstanceOf(UnreadableError)
    rmSync(here)
    renameSync(`${here}-away`, here)
    expect(await all.workOff()).toEqual(['a'])
    for (const one of [all.store, all.writer]) await expect(one.proveWritable()).resolves.toBeUndefined()
    expect(await all.lost()).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})

it('tolerates a folder in the place of a file', async () => {
  await all.put('a')
  const [only] = all.files()
  await all.close()
  rmSync(only!)
  mkdirSync(only!)
  for (let n = 0; n < 300; n += 1) writeFileSync(path.join(only!, String(n)), '')
  all.open()
  await all.put('b')
  expect(await all.workOff()).toEqual(['b'])
  expect(await all.lost()).toBe(1)
  rmSync(only!, { recursive: true })
})
