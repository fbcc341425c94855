// Tests paths at which no store can be created. The daemon, the commands and `doctor` all report this in the same sentence, which says how to fix the
// problem, and change nothing.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { expect, it } from 'vitest'
import { checkStore } from '../../../src/commands/doctor/store.ts'
import { makeFolder } from '../../../src/core/store/sqlite/store-file.ts'
import { openSqlite, openSqliteShared } from '../../support/stores.ts'
import { Fault } from '../../../src/lib/fault.ts'
import { replaceFile } from '../../../src/lib/durable-file.ts'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import type { Config } from '../../../src/daemon/configuration/options.ts'

const options = { now: () => Date.now(), maxSize: 1e9 }
const isRoot = process.getuid?.() === 0
const nobody = 65_534
const configOf = (file: string): Config =>
  ({ store: { url: { engine: 'sqlite', path: file }, maxSize: 1e9 } }) as Config

function refusalOf(open: () => unknown): string {
  try {
    open()
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
  return 'it was opened'
}

async function expectRefusal(file: string, expected: RegExp): Promise<void> {
  const message = refusalOf(() => openSqlite(file, options))
  expect(message).toMatch(expected)
  expect(refusalOf(() => openSqliteShared(file, options))).toBe(message)
  const { findings } = await checkStore(configOf(file))
  expect(findings.map(({ level, what, remedy }) => [level, `${what} ${remedy}`])).toEqual([['failure', message]])
}

function tried(command: string, ...words: readonly string[]): boolean {
  try {
    execFileSync(command, words, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const long = 'n'.repeat(300)
const tooLong = /is too long\. Set PIPESPAN_STORE_URL to a shorter path/
const elsewhere = 'Set PIPESPAN_STORE_URL to a file in a writable folder'

/** `make` creates a file or folder before the test. It returns false if the current user may not create it. */
it.each<[what: string, names: readonly string[], expected: RegExp, make?: (folder: string) => unknown]>([
  [
    'a file where a folder is needed',
    ['file/p.db', 'file/a/b/p.db'],
    RegExp(`/file is not a folder. ${elsewhere}`),
    folder => writeFileSync(path.join(folder, 'file'), ''),
  ],
  [
    'a loop of symbolic links',
    ['one/p.db', 'one'],
    RegExp(`loop of symbolic links. ${elsewhere}`),
    folder => {
      symlinkSync('two', path.join(folder, 'one'))
      symlinkSync('one', path.join(folder, 'two'))
    },
  ],
  // In the second-to-last path, the length of the store's file name is allowed, but the names of the files next to it are too long.
  ['names that are too long', [long, `${long}/p.db`, 'n'.repeat(250), `${'folder/'.repeat(700)}p.db`], tooLong],
  [
    'a folder, or a link to one',
    ['data', 'link'],
    /data is a folder\. Set PIPESPAN_STORE_URL to a file in it: sqlite:.*data\/pipespan\.db/,
    folder => {
      mkdirSync(path.join(folder, 'data'))
      symlinkSync('data', path.join(folder, 'link'))
    },
  ],
  [
    'a FIFO',
    ['special'],
    /is not a regular file/,
    folder => tried('mkfifo', '-m', '666', path.join(folder, 'special')),
  ],
  [
    'a device',
    ['special'],
    /is not a regular file/,
    folder => tried('mknod', '-m', '666', path.join(folder, 'special'), 'c', '1', '3'),
  ],
  [
    'a socket',
    ['special'],
    /is not a regular file/,
    async folder => once(closeAfterTest(createServer()).listen(path.join(folder, 'special')), 'listening'),
  ],
])('rejects a store path: %s', async (_, names, expected, make) => {
  const folder = temporaryFolder()
  if ((await make?.(folder)) === false) return
  const before = readdirSync(folder, { recursive: true })
  for (const name of names) await expectRefusal(path.join(folder, name), expected)
  expect(readdirSync(folder, { recursive: true })).toEqual(before)
  const special = path.join(folder, 'special')
  if (!existsSync(special)) return
  const { mode } = statSync(special)
  await expect(replaceFile(special, 'token')).rejects.toThrow('is not a regular file')
  expect(statSync(special).mode).toBe(mode)
})

it.runIf(process.platform === 'linux')(
  'rejects a file system on which no files can be created, without retrying forever',
  async () => {
    for (const file of ['/proc/pipespan-test/p.db', '/proc/a/b/c/p.db', '/proc/pipespan-test.db'])
      await expectRefusal(file, RegExp(`no files can be created in /proc. ${elsewhere}`))
  },
)

it.runIf(isRoot)('rejects a folder that the current user cannot write to', async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  mkdirSync(path.join(folder, 'closed'), { mode: 0o700 })
  process.seteuid?.(nobody)
  try {
    for (const name of ['p.db', 'new/p.db', 'closed/p.db'])
      await expectRefusal(path.join(folder, name), RegExp(`this user cannot write to ${folder}.*${elsewhere}`))
  } finally {
    process.seteuid?.(0)
  }
  expect(readdirSync(folder)).toEqual(['closed'])
})

it.runIf(isRoot)('rejects a read-only file system', async context => {
  const folder = temporaryFolder()
  if (!tried('mount', '-t', 'tmpfs', '-o', 'ro', 'tmpfs', folder))
    context.skip('this machine does not let a test mount anything')
  try {
    for (const name of ['p.db', 'new/p.db'])
      await expectRefusal(path.join(folder, name), RegExp(`the file system of ${folder} is read-only. ${elsewhere}`))
  } finally {
    tried('umount', folder)
  }
})

it('creates a store with all parent folders, after doctor has only checked that this is possible', async () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'a', 'b', 'p.db')
  expect((await checkStore(configOf(file))).findings.map(({ level }) => level)).toEqual(['fine'])
  expect(readdirSync(folder)).toEqual([])
  closeAfterTest(openSqlite(file, options))
  expect(existsSync(file)).toBe(true)
})

it('does not change a file that is in the way of a new folder', () => {
  const file = path.join(temporaryFolder(), 'file')
  writeFileSync(file, 'x')
  expect(() => makeFolder(file)).toThrow('EEXIST')
})
