// Tests which code the shipped daemon has loaded when it becomes ready. The source and the objects of all loaded code stay in memory.
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { noteIntl, noteModules } from './loaded-modules.ts'
import { shippedModules } from '../shipped.ts'

/** Returns the bundle files that a daemon has loaded when it becomes ready. */
async function loadedFiles(): Promise<string[]> {
  const loaded = noteModules(temporaryFolder())
  await Daemon.start({}, loaded.nodeArgs)
  return [...new Set(loaded.names())]
    .filter(name => name !== 'main.js' && name.endsWith('.js'))
    .map(name => path.join(shippedModules, name))
}

/** Returns the packages whose code is in a file. In the bundle, each of their modules starts with a comment that contains its path. */
function packagesIn(file: string): string[] {
  const modules = readFileSync(file, 'utf8').matchAll(
    /^\/\/ node_modules\/(?:.*\/node_modules\/)?((?:@[^/\n]+\/)?[^/\n]+)\//gm,
  )
  return [...new Set([...modules].map(([, name = '']) => name))]
}

describe('code loaded by a ready daemon', () => {
  it('loads no schema compiler, and no file that takes much memory to compile, before the daemon is ready', async () => {
    const files = await loadedFiles()
    const packages = files.flatMap(packagesIn)
    expect(packages).toEqual(expect.arrayContaining(['fastify', 'zod', 'undici']))
    for (const other of ['ajv', '@fastify/fast-json-stringify-compiler', 'light-my-request'])
      expect(packages).not.toContain(other)
    expect(files.filter(file => statSync(file).size > 1_400_000)).toEqual([])
  })
  it('creates no Intl formatter before the daemon is ready, because the first formatter loads locale data that only pages need', async () => {
    const made = noteIntl(temporaryFolder())
    const daemon = await Daemon.start({}, made.nodeArgs)
    expect(made.names()).toEqual([])
    await (await fetch(daemon.adminUrl)).text()
    expect(made.names()).toContain('NumberFormat')
  })
})
