// Tests the build's message when it cannot build. npm shows the message when it installs the package from a Git clone.
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { repository } from './install.ts'

/** Runs the build in a folder without packages, as an npm with this user agent would. Returns the error output. */
function build(userAgent: string): string {
  const folder = temporaryFolder()
  for (const name of ['package.json', 'scripts'])
    cpSync(path.join(repository, name), path.join(folder, name), { recursive: true })
  const env = { ...process.env, npm_config_user_agent: userAgent }
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.js'], { cwd: folder, env, encoding: 'utf8' })
  expect(status).toBe(1)
  return stderr
}

it('reports that Node.js is too old if that is why npm has left out the bundler', () => {
  expect(build('npm/9.2.0 node/v18.20.4 linux x64')).toContain('npm runs on Node.js 18')
  expect(build('npm/9.2.0 node/v18.20.4 linux x64')).toContain('Use Node.js 20 or newer')
})

it('reports how to install the bundler if it is missing for another reason', () => {
  expect(build('npm/11.0.0 node/v24.0.0 linux x64')).toContain('Run `npm ci`')
})
