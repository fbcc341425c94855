// A store is a regular file. Anything else under its name is refused before anything is changed.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { openSqlite, openSqliteShared } from '../../support/stores.ts'
import { replaceFile } from '../../../src/lib/durable-file.ts'

const options = { now: () => Date.now(), maxSize: 2 ** 30 }

/** Each makes one; false if this user may not. */
const kinds: Readonly<Record<string, (file: string) => boolean | Promise<boolean>>> = {
  'a FIFO': file => tried('mkfifo', '-m', '666', file),
  'a device': file => tried('mknod', '-m', '666', file, 'c', '1', '3'),
  'a folder': file => {
    mkdirSync(file)
    return true
  },
  'a socket': async file => {
    const server = createServer().listen(file)
    closeAfterTest(server)
    await once(server, 'listening')
    return true
  },
}

describe.each(Object.entries(kinds))('a store whose name is that of %s', (_, make) => {
  it('is refused, and nothing is changed', async () => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'pipespan.db')
    if (!(await make(file))) return
    const before = statSync(file)
    for (const open of [() => openSqlite(file, options), () => openSqliteShared(file, options)])
      expect(open).toThrow(/is not a regular file|is a folder/)
    await expect(replaceFile(file, 'token')).rejects.toThrow('is not a regular file')
    expect({ mode: statSync(file).mode, names: readdirSync(folder) }).toEqual({
      mode: before.mode,
      names: ['pipespan.db'],
    })
  })
})

function tried(command: string, ...words: readonly string[]): boolean {
  try {
    execFileSync(command, words, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
