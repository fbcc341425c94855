// Files of accepted deliveries that are away for a moment: whoever reads them meanwhile gives nothing up before their writer, who still has them open, has
// written them again.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { backupSqlite } from '../../src/store/sqlite/backup.ts'
import { WithDeliveries } from './with-deliveries.ts'

let all: WithDeliveries
beforeEach(() => {
  all = new WithDeliveries()
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

it('keeps deliveries that were accepted while another mount covered the folder, even if the reader looks first', async () => {
  await all.put('a')
  expect(await all.workOff()).toEqual(['a'])
  const uncover = cover()
  await all.put('b')
  uncover()
  await expect(all.workOff()).rejects.toThrow(/is away/)
  await all.tidy()
  expect(await all.workOff()).toEqual(['b'])
  expect(await all.lost()).toBeUndefined()
})

it.each(['', '-wal', '-shm'])('rewrites waiting deliveries when somebody removes their file: …%s', async end => {
  await all.put('a')
  const [file] = all.files()
  rmSync(`${file!}${end}`)
  expect(await all.put('b')).toEqual(['accepted'])
  expect(all.files().at(-1)).not.toBe(file)
  expect(await all.workOff()).toEqual(['a', 'b'])
  expect(await all.lost()).toBeUndefined()
  expect(all.said).toMatchObject([{ msg: expect.stringMatching(/was removed; .* written again/) as string }])
})

it('accepts nothing while the file cannot be rewritten, and continues once it can', async () => {
  await all.put('a')
  renameSync(all.folder, `${all.folder}-away`)
  writeFileSync(all.folder, 'in the way')
  await expect(all.put('b')).rejects.toThrow(/The store cannot be written/)
  await expect(all.put('c', 'd')).rejects.toThrow(/The store cannot be written/)
  rmSync(all.folder)
  expect(await all.put('e')).toEqual(['accepted'])
  expect(await all.workOff()).toEqual(['a', 'e'])
  expect(await all.put('b', 'c', 'e')).toEqual(['accepted', 'accepted', 'duplicate'])
  rmSync(`${all.folder}-away`, { recursive: true })
})

it('hands out a leased delivery again while its file is missing', async () => {
  await all.put('a')
  await all.store.inbox.lease(100, 1e9, 0)
  cover()
  expect(await all.workOff()).toEqual(['a'])
})

it('keeps deliveries that were rewritten beside the older file over a stop', async () => {
  await all.put('a')
  const uncover = cover()
  await all.put('b')
  uncover()
  await all.put('c')
  expect(all.files().length).toBe(2)
  await all.close()
  all.open()
  expect((await all.workOff()).sort()).toEqual(['a', 'b', 'c'])
  expect(await all.workOff()).toEqual([])
  expect(all.files().length).toBe(1)
  expect(await all.lost()).toBeUndefined()
})

it('processes deliveries of a daemon that started without the folder and those that return with the folder', async () => {
  await all.put('a')
  expect(await all.workOff()).toEqual(['a'])
  for (const name of ['b', 'c']) {
    await all.put(name)
    await all.close()
    all.open()
  }
  await all.close()
  const uncover = cover()
  all.open()
  await all.put('d')
  expect(await all.workOff()).toEqual(['d'])
  await all.put('e', 'f')
  uncover()
  await all.tidy()
  await all.close()
  all.open()
  const found: (string | undefined)[] = []
  for (let more = await all.workOff(); more.length > 0; more = await all.workOff()) found.push(...more)
  expect(found.sort()).toEqual(['b', 'c', 'e', 'f'])
  expect(all.files().length).toBe(1)
  expect(await all.lost()).toBeUndefined()
})

it('processes deliveries from the original file if a killed process had begun to rewrite them', async () => {
  await all.put('a')
  const killed = all.killed()
  const folder = `${killed}-deliveries`
  // It had begun another file, and died before anything was in it.
  const [empty] = new WithDeliveries().files()
  writeFileSync(path.join(folder, '00000002-12345678.db'), readFileSync(empty!))
  const next = new WithDeliveries(killed)
  expect(await next.put('a', 'b')).toEqual(['duplicate', 'accepted'])
  expect((await next.workOff()).sort()).toEqual(['a', 'b'])
  expect(await next.lost()).toBeUndefined()
  await next.remove()
})

it('refuses a backup that would lack the waiting deliveries', async () => {
  await all.put('a')
  const target = `${all.file}-backup`
  renameSync(all.folder, `${all.folder}-away`)
  await expect(backupSqlite(all.file, target)).rejects.toThrow(/are not beside the store/)
  const beside = (): string[] =>
    readdirSync(path.dirname(target)).filter(name => name.startsWith(path.basename(target)))
  expect(beside()).toEqual([])
  renameSync(`${all.folder}-away`, all.folder)
  await backupSqlite(all.file, target)
  expect(beside()).toEqual([path.basename(target)])
})

it('refuses to write a backup beside the deliveries of a missing store, and leaves them', async () => {
  await all.put('a')
  const target = path.join(path.dirname(all.file), 'gone.db')
  const orphan = path.join(`${target}-deliveries`, '00000001-12345678.db')
  mkdirSync(path.dirname(orphan))
  writeFileSync(orphan, 'accepted')
  await expect(backupSqlite(all.file, target)).rejects.toThrow(
    /gone\.db cannot be created: .* has the deliveries of a store/,
  )
  expect(existsSync(target)).toBe(false)
  expect(readFileSync(orphan, 'utf8')).toBe('accepted')
})
