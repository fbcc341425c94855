// Tests `pipespan migrate` and `pipespan store` as run by an operator.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { contents, fill } from './filled.ts'
import { lockForServing } from '../../../src/core/store/sqlite/serve-lock.ts'
import { openSqlite } from '../../support/stores.ts'
import { runCommand } from '../../e2e/run-command.ts'
import { sqliteMigrations } from '../../../src/core/store/sqlite/migrate.ts'

const newest = sqliteMigrations.length
let folder: string
let file: string
const options = { now: () => Date.now(), maxSize: 2 ** 30 }

beforeEach(() => {
  folder = temporaryFolder()
  file = path.join(folder, 'data', 'pipespan.db')
})

function environment(): Record<string, string> {
  return {
    PIPESPAN_STORE_URL: `sqlite:${file}`,
    PIPESPAN_WEBHOOK_TOKEN: 'a-token-of-these-commands',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  }
}

async function pipespan(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout: out, stderr: err } = await runCommand(args, environment())
  return { code, out, err }
}

/** Runs a Pipespan command in a separate process. */
function pipespanProcess(...args: string[]): ChildProcess {
  const main = path.resolve(import.meta.dirname, '../../../src/main.ts')
  return spawn(process.execPath, [main, ...args], { stdio: 'ignore', env: environment() })
}

/** Sets the schema version of an SQLite file. */
function schema(version: number): void {
  const raw = new DatabaseSync(file)
  raw.exec(`PRAGMA user_version = ${version}`)
  raw.close()
}

describe('the command `pipespan migrate`', () => {
  it("creates a missing store with this version's schema", async () => {
    expect(await pipespan('migrate')).toMatchObject({
      code: 0,
      out: `The store sqlite:${file} has schema ${newest}.\n`,
    })
  })

  it('refuses to change the store while a daemon of another version is running on it', async () => {
    const store = openSqlite(file, options)
    await store.close()
    const lock = lockForServing(file)
    schema(newest - 1)
    const refused = await pipespan('migrate')
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/Another pipespan process uses /) as string })
    expect((await pipespan('inbox', 'list')).err).toMatch(/Another pipespan process uses /)
    schema(newest)
    expect(await pipespan('migrate')).toMatchObject({ code: 0 })
    lock.release()
  })
})

describe('the command `pipespan store backup`', () => {
  it('writes a complete backup that only its user can read, while a daemon serves the store', async () => {
    const store = openSqlite(file, options)
    await fill(store, 20)
    const before = await contents(store.tables)
    const target = path.join(folder, 'backup.db')
    expect(await pipespan('store', 'backup', target)).toMatchObject({ code: 0 })
    expect(statSync(target).mode & 0o777).toBe(0o600)
    await fill(store, 1)
    const copy = openSqlite(target, options)
    expect(await contents(copy.tables)).toEqual(before)
    await copy.close()
    await store.close()
  })

  it('can reuse the file name of a killed backup once its leftovers are removed', async () => {
    const store = openSqlite(file, options)
    await fill(store, 20)
    const target = path.join(folder, 'backup.db')
    const command = pipespanProcess('store', 'backup', target)
    const ended = once(command, 'exit')
    while (readdirSync(folder).every(name => !name.startsWith('backup.db'))) await setImmediate()
    command.kill('SIGKILL')
    await ended
    expect((await pipespan('store', 'backup', target)).err).toMatch(/cannot be created.*new file/)
    rmSync(target)
    expect(await pipespan('store', 'backup', target)).toMatchObject({ code: 0 })
    await store.close()
  })

  it('never overwrites a file, and reports an error if there is nothing to back up', async () => {
    const target = path.join(folder, 'mine.txt')
    writeFileSync(target, 'mine')
    expect((await pipespan('store', 'backup', target)).err).toMatch(/There is no store at /)
    await openSqlite(file, options).close()
    const refused = await pipespan('store', 'backup', target)
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/cannot be created.*new file/) as string })
    expect(readFileSync(target, 'utf8')).toBe('mine')
  })
})

describe('the command `pipespan store copy`', () => {
  it('copies the configured store into a new file, and prints the number of rows in each table', async () => {
    const store = openSqlite(file, options)
    await fill(store, 3)
    const before = await contents(store.tables)
    await store.close()
    const target = path.join(folder, 'new', 'pipespan.db')
    const { code, out } = await pipespan('store', 'copy', 'configured', `sqlite:${target}`)
    expect(code).toBe(0)
    expect(out).toMatch(/runs +3\n/)
    const json = await pipespan('store', 'copy', 'configured', `sqlite:${target}.json`, '--json')
    expect(JSON.parse(json.out)).toMatchObject({ to: `sqlite:${target}.json`, rows: { runs: 3 } })
    const copy = openSqlite(target, options)
    expect(await contents(copy.tables)).toEqual(before)
    await copy.close()
  })

  it('copies the store of a killed daemon without waiting for its leases to expire', async () => {
    const killed = openSqlite(file, options)
    await fill(killed, 3)
    expect(await killed.leases.take('maintenance', 'a daemon', 3_600_000)).toBe(true)
    await killed.close()
    const copied = await pipespan('store', 'copy', 'configured', `sqlite:${path.join(folder, 'new.db')}`)
    expect(copied).toMatchObject({ code: 0, out: expect.stringMatching(/runs +3\n/) as string })
  })

  it('refuses to copy a store that a daemon serves, or anything that is not a store', async () => {
    const served = openSqlite(file, options)
    const target = `sqlite:${path.join(folder, 'new.db')}`
    expect((await pipespan('store', 'copy', 'configured', target)).err).toMatch(/Another pipespan process uses/)
    await served.close()
    expect((await pipespan('store', 'copy', 'configured', 'mysql://x')).err).toMatch(/"mysql:\/\/x" is not a store URL/)
    expect((await pipespan('store', 'copy', `sqlite:${folder}/none.db`, target)).err).toMatch(/no store at/)
  })
})
