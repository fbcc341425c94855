// Tests a file as a rotation target: it is replaced atomically, only its owner can read it, and each failure has a clear message.
import { chown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { createFileTarget } from '../../../src/features/tokens/file-target.ts'
import { blankJournal } from '../../../src/features/tokens/journal.ts'
import { parseTarget, type LockedTarget } from '../../../src/features/tokens/target.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = temporaryFolder()
  file = path.join(folder, 'token')
})

async function locked<T>(work: (target: LockedTarget) => Promise<T>): Promise<T> {
  const target = await createFileTarget(file).lock(() => undefined)
  try {
    return await work(target)
  } finally {
    await target.release()
  }
}

it('writes only the token to the file, with mode 0600 whatever its mode was before', async () => {
  await writeFile(file, 'former\n', { mode: 0o644 })
  expect((await createFileTarget(file).peek()).value?.reveal()).toBe('former')
  await locked(target => target.write(new Secret('next')))
  expect(await readFile(file, 'utf8')).toBe('next')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

it("leaves only the token's file, its journal and its lock in the folder", async () => {
  await writeFile(`${file}.new`, 'a value that was never used')
  await locked(async target => {
    expect(await readdir(folder)).not.toContain('token.new')
    await target.write(new Secret('next'))
    await target.save(blankJournal(`file:${file}`, 'https://o11y.example'))
  })
  expect((await readdir(folder)).sort()).toEqual(['token', 'token.rotation.json', 'token.rotation.lock'])
})

it("does not write a token through a link that has the temporary file's name", async () => {
  const other = path.join(folder, 'other')
  await locked(async target => {
    await symlink(other, `${file}.new`)
    await target.write(new Secret('next'))
  })
  expect(await readFile(file, 'utf8')).toBe('next')
  expect((await lstat(file)).isSymbolicLink()).toBe(false)
  expect(await readdir(folder)).not.toContain('other')
})

it('replaces the file that a link points to, and keeps the link', async () => {
  const real = path.join(folder, 'real')
  await writeFile(real, 'former')
  await symlink(real, file)
  await locked(target => target.write(new Secret('next')))
  expect((await lstat(file)).isSymbolicLink()).toBe(true)
  expect(await readFile(real, 'utf8')).toBe('next')
})

it.runIf(process.getuid?.() === 0)(
  'keeps the owner of the token file, so that the daemon can still read it',
  async () => {
    await writeFile(file, 'former')
    await chown(file, 12345, 12345)
    await locked(target => target.write(new Secret('next')))
    expect((await stat(file)).uid).toBe(12345)
  },
)

it('finds no token if the token file is missing or blank', async () => {
  expect(await createFileTarget(file).peek()).toEqual({ value: undefined, journal: undefined })
  await writeFile(file, ' \n')
  expect((await createFileTarget(file).peek()).value).toBeUndefined()
})

it("fails with a clear message if the token file's folder is missing or the path is a folder", async () => {
  const missing = createFileTarget(path.join(folder, 'no', 'token'))
  await expect(missing.lock(() => undefined)).rejects.toThrow('Create the folder first.')
  await mkdir(file)
  await expect(createFileTarget(file).peek()).rejects.toThrow(`Could not read ${file}`)
})

it('lets only one rotation at a time lock the token file', async () => {
  await locked(async () => {
    await expect(createFileTarget(file).lock(() => undefined)).rejects.toThrow('Another rotation')
  })
  await locked(async target => expect((await target.read()).value).toBeUndefined())
})

it('parses the address of a rotation target', () => {
  expect(parseTarget('file:/run/token')).toEqual({ kind: 'file', path: '/run/token' })
  expect(parseTarget('file:///run/token')).toEqual({ kind: 'file', path: '/run/token' })
  const place = { kind: 'kubernetes', namespace: 'ci', secret: 'ingest.v1', key: 'TOKEN_1' }
  expect(parseTarget('kubernetes:ci/ingest.v1/TOKEN_1')).toEqual(place)
})

it.each(['', 'file:', 'file:token', 'kubernetes:a/b', 'kubernetes:a/b/c/d', 'kubernetes:../b/c', 'vault:x'])(
  'rejects "%s" as the address of a rotation target',
  text => {
    expect(() => parseTarget(text)).toThrow('Use file:/absolute/path')
  },
)
