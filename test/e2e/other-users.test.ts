// Tests what another user of the same machine can plant or read in world-writable folders.
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { unlessErased } from '../support/stored-bytes.ts'
import { Daemon, run } from './daemon.ts'

it("uses no shared temporary folder, and keeps other users from reading or locking the store's files, even in an open folder", async () => {
  const [folder, TMPDIR] = [temporaryFolder(), temporaryFolder()]
  chmodSync(folder, 0o777)
  const daemon = await Daemon.start({ TMPDIR, PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'pipespan.db')}` })
  expect((await daemon.post('{}')).status).toBe(202)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(files.length).toBeGreaterThan(4)
  const modeOf = (name: string): number => unlessErased(() => statSync(path.join(folder, name)).mode) ?? 0
  expect(files.filter(name => (modeOf(name) & 0o077) !== 0)).toEqual([])
  await daemon.stop()
  // No compiled code is stored where other users could replace it.
  expect(readdirSync(TMPDIR)).toEqual([])
})

it('stores compiled code in the configured folder', async () => {
  const cache = path.join(temporaryFolder(), 'compiled')
  mkdirSync(cache, { mode: 0o700 })
  expect((await run(['--help'], { NODE_COMPILE_CACHE: cache })).code).toBe(0)
  expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(2)
})
