// What another user of the same machine may prepare or look at: folders that everybody may write to.
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { Daemon, temporaryFolder } from './daemon.ts'

describe('the folder of temporary files, where others may prepare what a program finds there', () => {
  it('is not used by serve: no compiled code is kept where others could replace it', async () => {
    const TMPDIR = temporaryFolder()
    const daemon = await Daemon.start({ TMPDIR })
    await daemon.stop()
    expect(readdirSync(TMPDIR)).toEqual([])
  })

  it('compiled code is kept where the operator says', async () => {
    const cache = path.join(temporaryFolder(), 'compiled')
    mkdirSync(cache, { mode: 0o700 })
    const daemon = await Daemon.start({ NODE_COMPILE_CACHE: cache })
    await daemon.stop()
    expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(10)
  })
})

it('nobody else may read or lock a file of the store, even in a folder that is open to all', async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o777)
  // Made before by somebody who wants to read what goes into it.
  const inbox = path.join(folder, 'pipespan.db-deliveries')
  mkdirSync(inbox)
  chmodSync(inbox, 0o755)
  const daemon = await Daemon.start({ PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'pipespan.db')}` })
  expect((await daemon.post('{}', { 'x-service-event': 'Pipeline Hook' })).status).toBe(202)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(files.length).toBeGreaterThan(4)
  expect(files.filter(name => (statSync(path.join(folder, name)).mode & 0o077) !== 0)).toEqual([])
})
