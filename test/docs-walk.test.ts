// Follows docs/getting-started.md like a new user: runs its blocks unchanged, in the order of the page, until a trace arrives at a receiver. Only the
// ports are replaced, because the usual ones may be in use.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from './support/after-test.ts'
import { docBlocks, repository, type DocBlock } from './doc-blocks.ts'
import { docFolder } from './doc-shell.ts'
import { freePorts } from '../src/simulator/daemon-process.ts'
import { isFull } from './full.ts'
import { OtlpReceiver } from './support/otlp-receiver.ts'

const page = 'docs/getting-started.md'
/** The steps of the getting-started page, except those that need more than this machine. */
const steps = docBlocks().filter(({ page: of, marker }) => of === page && marker?.kind !== 'outside')

/** Runs the steps. Returns the output of each step by its name. */
async function walk(steps: readonly DocBlock[], cwd: string, env: NodeJS.ProcessEnv): Promise<Map<string, string>> {
  const receiver = await OtlpReceiver.start({ keep: false })
  const [port = 0, adminPort = 0] = await freePorts(2)
  const own: NodeJS.ProcessEnv = {
    ...env,
    PIPESPAN_LISTEN: `127.0.0.1:${port}`,
    PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
  }
  const spans = new Map<string, number>()
  receiver.on('received', received => {
    for (const { name, endNanos } of received.spans) spans.set(name, Number(endNanos / 1_000_000n))
  })
  let daemon: ChildProcess | undefined
  const printed = new Map<string, string>()
  const follow = (name: string, script: string): void => {
    const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', script], { cwd, env: own, encoding: 'utf8' })
    expect({ name, status, stderr: status === 0 ? '' : stdout + stderr }).toEqual({ name, status: 0, stderr: '' })
    printed.set(name, stdout)
  }
  try {
    for (const { marker, script: asRead } of steps) {
      const name = marker?.description ?? ''
      const script = asRead
        .replaceAll('localhost:8080', `localhost:${port}`)
        .replaceAll('http://localhost:4318', receiver.url)
      // Each block runs in a new shell, so the PATH that a block sets is passed on to the following blocks.
      if (name === 'command') own.PATH = [path.join(cwd, 'node_modules/.bin'), own.PATH].join(path.delimiter)
      else if (name === 'daemon') {
        daemon = spawn('sh', ['-eu', '-c', `exec ${script}`], { cwd, env: own, stdio: 'ignore', detached: true })
      } else if (name === 'health') {
        const isReady = (): boolean => spawnSync('sh', ['-c', script], { cwd, env: own }).status === 0
        await expect.poll(isReady, { interval: 200 }).toBe(true)
      } else {
        follow(name, script)
      }
    }
    await expect.poll(() => [...spans.keys()].filter(name => name.startsWith('job: ')).length).toBe(4)
    expect([...spans.keys()].filter(name => name.startsWith('pipeline: '))).toHaveLength(1)
    // The pipeline must have ended a moment ago, not in the year that the example on the page shows.
    expect(Math.max(...spans.values())).toBeGreaterThan(Date.now() - 3_600_000)
    const ended = once(daemon!, 'exit')
    process.kill(-daemon!.pid!, 'SIGTERM')
    await ended
    return printed
  } finally {
    if (daemon?.exitCode === null && daemon.signalCode === null) process.kill(-daemon.pid!, 'SIGKILL')
    await receiver.close()
  }
}

it('leads a reader of the getting-started page to a trace in a backend', async () => {
  using folder = docFolder()
  const [clone, ...others] = steps
  expect(clone?.marker?.description).toBe('clone')
  const printed = await walk(others, folder.path, folder.env)
  expect(printed.get('configuration')).toMatch(/^[0-9a-f]{48}\nThe configuration is valid\.\n$/)
  // The drawing on the page is exactly the command's output.
  expect(readFileSync(path.join(repository, page), 'utf8')).toContain(printed.get('map'))
})

it.runIf(isFull)('runs the blocks of the getting-started page in page order, in a fresh clone', async () => {
  const folder = temporaryFolder()
  const { status } = spawnSync('git', ['clone', '-q', '--no-hardlinks', repository, folder])
  expect(status).toBe(0)
  using shell = docFolder()
  // The PATH contains nothing from this checkout: neither its program nor its packages.
  const own = (shell.env.PATH ?? '')
    .split(path.delimiter)
    .filter(one => !one.includes('node_modules') && !one.includes(shell.path))
  const env = { ...shell.env, PATH: own.join(path.delimiter), npm_config_prefer_offline: 'true' }
  const printed = await walk(steps, folder, env)
  expect(printed.get('clone')).toMatch(/^10 pipelines with \d+ jobs drawn/m)
})
