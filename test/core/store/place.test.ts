// Places where there can be no store: the daemon, the commands and `doctor` say so in the same sentence, which ends in a remedy.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { checkStore } from '../../../src/commands/doctor/store.ts'
import { makeFolder } from '../../../src/core/store/sqlite/private-place.ts'
import { openSqlite, openSqliteShared } from '../../support/stores.ts'
import { Fault } from '../../../src/lib/fault.ts'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import type { Config } from '../../../src/daemon/configuration/options.ts'

const options = { now: () => Date.now(), maxSize: 1e9 }
const isRoot = process.getuid?.() === 0
const nobody = 65_534
const elsewhere = 'Set PIPESPAN_STORE_URL to a file in a writable folder.'

/** What the daemon says that begins to serve the file. */
function refusalOf(open: () => unknown): string {
  try {
    open()
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
  return 'it was opened'
}

async function saidByDoctor(file: string): Promise<string> {
  const config = { store: { url: { engine: 'sqlite', path: file }, maxSize: 1e9 } } as Config
  const { findings } = await checkStore(config)
  expect(findings.map(({ level }) => level)).toEqual(['failure'])
  return `${findings[0]?.what} ${findings[0]?.remedy}`
}

async function expectRefusal(file: string, message: string): Promise<void> {
  expect(refusalOf(() => openSqlite(file, options))).toBe(message)
  expect(refusalOf(() => openSqliteShared(file, options))).toBe(message)
  expect(await saidByDoctor(file)).toBe(message)
}

it('says that a file is in the place of a folder', async () => {
  const folder = temporaryFolder()
  writeFileSync(path.join(folder, 'file'), '')
  for (const rest of ['p.db', 'a/b/p.db']) {
    const file = path.join(folder, 'file', rest)
    await expectRefusal(file, `The store ${file} cannot be created: ${folder}/file is not a folder. ${elsewhere}`)
  }
})

it('says that symbolic links lead in a circle', async () => {
  const folder = temporaryFolder()
  symlinkSync('two', path.join(folder, 'one'))
  symlinkSync('one', path.join(folder, 'two'))
  for (const file of [path.join(folder, 'one', 'p.db'), path.join(folder, 'one')]) {
    const reason = 'symbolic links on the way to it lead in a circle'
    await expectRefusal(file, `The store ${file} cannot be created: ${reason}. ${elsewhere}`)
  }
})

it('says that a name is too long, also if only those of the files beside the store are', async () => {
  const long = 'n'.repeat(300)
  for (const name of [long, `${long}/p.db`, 'n'.repeat(250), `${'folder/'.repeat(700)}p.db`]) {
    const file = path.join(temporaryFolder(), name)
    const reason = 'its path, or a name in it, is too long'
    const remedy = 'Set PIPESPAN_STORE_URL to a shorter path.'
    await expectRefusal(file, `The store ${file} cannot be created: ${reason}. ${remedy}`)
  }
})

it('says that a folder was given, and which file in it could be meant', async () => {
  const folder = temporaryFolder()
  mkdirSync(path.join(folder, 'data', 'inner'), { recursive: true })
  const link = path.join(folder, 'link')
  symlinkSync('data', link)
  for (const given of [path.join(folder, 'data'), link]) {
    const data = path.join(folder, 'data')
    const remedy = `Set PIPESPAN_STORE_URL to a file in it: sqlite:${data}/pipespan.db.`
    await expectRefusal(given, `The store ${data} is a folder. ${remedy}`)
  }
  expect(readdirSync(path.join(folder, 'data'))).toEqual(['inner'])
})

it.runIf(process.platform === 'linux')(
  'says that a file system takes no files, and does not try for ever',
  async () => {
    for (const file of ['/proc/pipespan-test/p.db', '/proc/a/b/c/p.db', '/proc/pipespan-test.db'])
      await expectRefusal(file, `The store ${file} cannot be created: no files can be created in /proc. ${elsewhere}`)
  },
)

it.runIf(isRoot)('says that this user cannot write there', async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  mkdirSync(path.join(folder, 'closed'), { mode: 0o700 })
  process.seteuid?.(nobody)
  try {
    for (const [name, at] of [
      ['p.db', folder],
      ['new/p.db', folder],
      ['closed/p.db', `${folder}/closed`],
    ] as const) {
      const file = path.join(folder, name)
      await expectRefusal(file, `The store ${file} cannot be created: this user cannot write to ${at}. ${elsewhere}`)
    }
  } finally {
    process.seteuid?.(0)
  }
  expect(readdirSync(folder)).toEqual(['closed'])
})

it.runIf(isRoot)('says that the file system is read-only', async context => {
  const folder = temporaryFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    context.skip('this machine does not let a test mount anything')
  }
  try {
    for (const name of ['p.db', 'new/p.db']) {
      const file = path.join(folder, name)
      await expectRefusal(
        file,
        `The store ${file} cannot be created: the file system of ${folder} is read-only. ${elsewhere}`,
      )
    }
  } finally {
    execFileSync('umount', [folder])
  }
})

it('is created with all of its folders, for which doctor only tried whether it could', async () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'a', 'b', 'p.db')
  const config = { store: { url: { engine: 'sqlite', path: file }, maxSize: 1e9 } } as Config
  expect((await checkStore(config)).findings.map(({ level }) => level)).toEqual(['fine'])
  expect(readdirSync(folder)).toEqual([])
  closeAfterTest(openSqlite(file, options))
  expect(existsSync(file)).toBe(true)
})

it('leaves a file alone that is in the place of a new folder', () => {
  const file = path.join(temporaryFolder(), 'file')
  writeFileSync(file, 'x')
  expect(() => makeFolder(file)).toThrow('EEXIST')
})
