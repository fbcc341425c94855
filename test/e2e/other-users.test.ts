// What another user of the same machine may prepare or look at: folders that everybody may write to.
import { mkdirSync, readdirSync } from 'node:fs'
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
