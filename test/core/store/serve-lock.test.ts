// Only one process serves an SQLite store, whatever path it uses to open the file. Other processes that open the store do not touch its pending data.
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { backupSqlite } from '../../../src/core/store/sqlite/backup.ts'
import { keep, takeKeys, undecodable } from './taking-in-exercise.ts'
import { openSqlite, openSqliteShared } from '../../support/stores.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const options = { now: () => Date.now(), maxSize: 2 ** 30 }
let folder: string
let file: string
const closing: (() => Promise<void> | void)[] = []

beforeEach(() => {
  folder = temporaryFolder()
  file = path.join(folder, 'pipespan.db')
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function served(at = file): Store {
  const store = openSqlite(at, options)
  closing.push(async () => store.close())
  return store
}

/** Returns every file of the store, byte for byte, except SQLite's shared memory file, which is temporary. */
function allFiles(): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(one => one.isFile())
  return new Map(
    names
      .map(one => path.join(one.parentPath, one.name))
      .filter(name => !name.endsWith('-shm'))
      .sort()
      .map(name => [name, readFileSync(name).toString('base64')]),
  )
}

describe('a store that is served', () => {
  it('denies a served store to a second daemon, names the first daemon, and changes no byte', async () => {
    const first = served()
    await takeKeys(first, 'a', 'b')
    const before = allFiles()
    expect(() => openSqlite(file, options)).toThrow(
      new RegExp(`Another pipespan process uses .*process ${process.pid} on `),
    )
    expect(allFiles()).toEqual(before)
    expect(await takeKeys(first, 'b', 'c')).toEqual([false, true])
  })

  it('leaves a served store unchanged while commands open, read and close it', async () => {
    const first = served()
    await keep(first, undecodable())
    const before = allFiles()
    const shared = openSqliteShared(file, options)
    expect(await shared.quarantine.count()).toBe(1)
    await shared.close()
    backupSqlite(file, path.join(folder, 'copy.db'))
    rmSync(path.join(folder, 'copy.db'))
    expect(allFiles()).toEqual(before)
  })

  it.each(['a link to the file', 'a link to its folder', 'a link to a file that does not exist yet'])(
    'detects that a daemon already serves the store, whichever path refers to it: %s',
    async kind => {
      const real = path.join(folder, 'real')
      mkdirSync(real)
      const [target, name] = [path.join(real, 'pipespan.db'), path.join(folder, 'link')]
      if (kind === 'a link to its folder') symlinkSync(real, name)
      else {
        if (kind === 'a link to the file') await openSqlite(target, options).close()
        symlinkSync(path.join('real', 'pipespan.db'), name)
      }
      const first = served(kind === 'a link to its folder' ? path.join(name, 'pipespan.db') : name)
      await keep(first, undecodable())
      expect(() => openSqlite(target, options)).toThrow(/Another pipespan process uses /)
      const shared = openSqliteShared(target, options)
      expect(await shared.quarantine.count()).toBe(1)
      await shared.close()
    },
  )

  it('refuses to open a store through a hard link', async () => {
    await openSqlite(file, options).close()
    const second = path.join(folder, 'second.db')
    linkSync(file, second)
    expect(() => openSqlite(second, options)).toThrow(/2 names \(hard links\).*Remove the other hard links/)
    expect(() => openSqliteShared(second, options)).toThrow(/2 names/)
    rmSync(second)
    writeFileSync(second, '')
    try {
      execFileSync('mount', ['--bind', file, second], { stdio: 'ignore' })
    } catch {
      // Only root may mount a single file, so the rest of this test is skipped for other users.
      return
    }
    closing.push(() => void execFileSync('umount', [second]))
    expect(() => openSqlite(second, options)).toThrow(/mounted as a single file.*Mount its folder/)
  })
})

describe('the serve lock', () => {
  it('releases the lock of a store that cannot be opened', async () => {
    writeFileSync(file, 'no database at all, and longer than the header that SQLite looks for in its files')
    expect(() => openSqlite(file, options)).toThrow(/is damaged: file is not a database.*Restore a backup/)
    rmSync(file)
    await openSqlite(file, options).close()
  })

  it('does not blame another daemon if the lock cannot be taken for another reason', () => {
    mkdirSync(`${file}.lock`)
    expect(() => openSqlite(file, options)).toThrow(/its lock cannot be taken: .*folder that this user can write to/)
  })
})
