// Tests when `pipespan try` opens the user's browser.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { openBrowser } from '../../src/commands/try.ts'
import { temporaryFolder } from '../support/after-test.ts'

describe('opening the browser in `pipespan try`', () => {
  const terminal = (env: NodeJS.ProcessEnv, isTTY = true) => {
    const stdout = Object.assign(new PassThrough(), { isTTY })
    return { stdout, stderr: new PassThrough(), env }
  }

  it('opens the browser on a desktop', async () => {
    const folder = temporaryFolder()
    mkdirSync(path.join(folder, 'bin'))
    writeFileSync(path.join(folder, 'bin', 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > "${folder}/opened"\n`, {
      mode: 0o755,
    })
    const env = { DISPLAY: ':0', PATH: `${folder}/bin:/usr/bin:/bin` }
    expect(openBrowser('http://127.0.0.1:1/', terminal(env), 'linux')).toBe(true)
    await vi.waitFor(() => expect(readFileSync(`${folder}/opened`, 'utf8')).toBe('http://127.0.0.1:1/'), 20_000)
  })

  it.each([
    ['over SSH', { DISPLAY: ':0', SSH_CONNECTION: '1' }, true],
    ['in CI', { DISPLAY: ':0', CI: 'true' }, true],
    ['without a display', {}, true],
    ['without a terminal', { DISPLAY: ':0' }, false],
  ])('does not open the browser %s', (_, env, isTTY) => {
    expect(openBrowser('http://127.0.0.1:1/', terminal(env, isTTY), 'linux')).toBe(false)
  })
})
