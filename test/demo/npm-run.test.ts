// Tests `npm run demo` as a user stops it: with Ctrl-C, which the terminal sends to both npm and the demo, or with a signal to npm alone.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { repository } from '../deploy/tool.ts'
import { temporaryFolder } from '../support/after-test.ts'

it.each([
  ['Ctrl-C, which npm passes on a second time', (pid: number): boolean => process.kill(-pid, 'SIGINT')],
  ['SIGINT to npm alone', (pid: number): boolean => process.kill(pid, 'SIGINT')],
  ['SIGTERM to npm alone', (pid: number): boolean => process.kill(pid, 'SIGTERM')],
] as const)('stops the demo on %s, prints what it did, and leaves nothing behind', async (_name, end) => {
  const folder = temporaryFolder()
  // npm runs in its own process group, as in a terminal.
  const npm = spawn('npm', ['run', 'demo'], {
    ...{ cwd: repository, detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
    env: { ...process.env, TMPDIR: folder },
  })
  let output = ''
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const closed = once(npm.stdout, 'close')
  try {
    await expect.poll(() => output).toContain('Ctrl-C ends it')
    end(npm.pid ?? 0)
    // The demo and its daemon hold the other end of this pipe, so the pipe closes once both have ended.
    await closed
    expect(output).toMatch(/\d+ pipelines with \d+ jobs drawn/)
    expect(readdirSync(folder).filter(name => name.startsWith('pipespan-demo'))).toEqual([])
  } finally {
    try {
      process.kill(-(npm.pid ?? 0), 'SIGKILL')
    } catch {
      // All processes of the demo have ended.
    }
  }
})
