// Files of the write-ahead log that are away for a moment: whoever reads it meanwhile gives nothing up before its writer, who still has
// them by their descriptors, has looked and put them back.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { backupSqlite } from '../../src/store/sqlite/backup.ts'
import { WithWal } from './with-wal.ts'

let all: WithWal
beforeEach(() => {
  all = new WithWal()
})
afterEach(async () => all.remove())

/** As a file system mounted over the folder does; answers what ends it. */
function cover(): () => void {
  const aside = `${all.folder}-covered`
  renameSync(all.folder, aside)
  mkdirSync(all.folder, { mode: 0o700 })
  return () => {
    rmSync(all.folder, { recursive: true })
    renameSync(aside, all.folder)
  }
}

const names = async (): Promise<(string | undefined)[]> => (await all.workOff()).map(([, key]) => key)

it('what was accepted while the folder was covered is not given up when its reader is the first to look', async () => {
  await all.put('a')
  expect(await names()).toEqual(['a'])
  const uncover = cover()
  await all.put('b')
  uncover()
  // The file that the reader has is there again, and nothing more is in it.
  expect(await names()).toEqual([])
  await all.writer.proveWritable()
  expect(await names()).toEqual(['b'])
  expect(await all.lost()).toBeUndefined()
})

it('nor is it when later deliveries are found before it', async () => {
  await all.put('a', 'b')
  await all.close()
  all.open()
  await all.put('c')
  const [first] = all.segments()
  renameSync(first!, `${first}.away`)
  expect(await names()).toEqual([])
  await all.writer.proveWritable()
  expect(await names()).toEqual(['a', 'b', 'c'])
  expect(await all.lost()).toBeUndefined()
})

it('nor is one that was handed out already', async () => {
  await all.put('a')
  await all.close()
  all.open()
  await all.store.inbox.lease(100, 1e9, 0)
  const [first] = all.segments()
  renameSync(first!, `${first}.away`)
  expect(await names()).toEqual([])
  await all.writer.proveWritable()
  expect(await names()).toEqual(['a'])
  expect(await all.lost()).toBeUndefined()
})

it('what was written again beside the older file of its name outlives a stop', async () => {
  await all.put('a')
  const uncover = cover()
  await all.put('b')
  uncover()
  await all.put('c')
  expect(all.segments().length).toBe(2)
  await all.close()
  all.open()
  expect(await names()).toEqual(['a', 'b', 'c'])
  expect(await all.lost()).toBeUndefined()
})

it('what is accepted by a daemon that began without the folder is not taken for what comes back with it, which is processed too', async () => {
  await all.put('a')
  expect(await names()).toEqual(['a'])
  for (const name of ['b', 'c']) {
    await all.put(name)
    await all.close()
    all.open()
  }
  await all.close()
  const uncover = cover()
  all.open()
  await all.put('d')
  expect(await names()).toEqual(['d'])
  await all.put('e', 'f')
  uncover()
  await all.look()
  await all.close()
  all.open()
  expect(await names()).toEqual(['b', 'c', 'e', 'f'])
  expect(await names()).toEqual([])
  expect(all.setAside()).toEqual([])
  expect(await all.lost()).toBeUndefined()
})

it('what was accepted after something else was missed is not given up with it', async () => {
  await all.put('a', 'b')
  const [file] = all.segments()
  const bytes = readFileSync(file!)
  bytes[bytes.length - 1]! ^= 1
  writeFileSync(file!, bytes)
  expect(await names()).toEqual(['a'])
  await all.look()
  const uncover = cover()
  await all.put('c')
  uncover()
  expect(await names()).toEqual([])
  expect(await all.lost()).toBe(1)
  await all.look()
  expect(await names()).toEqual(['c'])
  expect(await all.lost()).toBe(1)
})

it('a backup or a copy that would be without it is none', async () => {
  await all.put('a')
  await all.close()
  all.open()
  await all.put('b')
  const [first] = all.segments()
  const target = `${all.file}-backup`
  renameSync(first!, `${first}.away`)
  await expect(backupSqlite(all.file, target)).rejects.toThrow(
    /cannot be read completely: 2 deliveries are pending in it/,
  )
  const beside = (): string[] =>
    readdirSync(path.dirname(target)).filter(name => name.startsWith(path.basename(target)))
  expect(beside()).toEqual([])
  renameSync(`${first}.away`, first!)
  await backupSqlite(all.file, target)
  expect(beside()).toEqual([path.basename(target)])
})

it('a backup is not written beside deliveries of a store whose file is gone, and leaves them', async () => {
  await all.put('a')
  const target = path.join(path.dirname(all.file), 'gone.db')
  const orphan = path.join(`${target}-deliveries`, 'one.wal')
  mkdirSync(path.dirname(orphan))
  writeFileSync(orphan, 'accepted')
  await expect(backupSqlite(all.file, target)).rejects.toThrow(
    /gone\.db cannot be created: .* has the deliveries of a store/,
  )
  expect(existsSync(target)).toBe(false)
  expect(readFileSync(orphan, 'utf8')).toBe('accepted')
})
