// A stranger's walk: the blocks of docs/getting-started.md as they stand, from a configuration to a trace at a receiver. Only
// the ports are others, since a machine's usual ones may be taken.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { docBlocks } from './doc-blocks.ts'
import { docFolder } from './doc-shell.ts'
import { freePorts } from '../src/demo/daemon-process.ts'
import { OtlpReceiver } from './support/otlp-receiver.ts'

it('the getting-started page leads from nothing to a trace in a backend', async () => {
  using folder = docFolder()
  const receiver = await OtlpReceiver.start({ keep: false })
  const [port = 0, adminPort = 0] = await freePorts(2)
  const env = { ...folder.env, PIPESPAN_LISTEN: `127.0.0.1:${port}`, PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}` }
  const script = (name: string): string => {
    const block = docBlocks().find(({ marker }) => marker?.kind === 'walk' && marker.says === name)
    if (block === undefined) throw new Error(`docs/getting-started.md has no block "${name}".`)
    return block.script
      .replaceAll('localhost:8080', `localhost:${port}`)
      .replaceAll('http://localhost:4318', receiver.url)
  }
  const follow = (name: string): string => {
    const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', script(name)], {
      cwd: folder.path,
      env,
      encoding: 'utf8',
    })
    expect({ name, status, stderr: status === 0 ? '' : stderr }).toEqual({ name, status: 0, stderr: '' })
    return stdout
  }
  expect(follow('configuration')).toContain('The configuration is fine.')
  expect(follow('map')).toContain('pipeline:')

  const daemon = spawn('sh', ['-eu', '-c', `exec ${script('daemon').replace('npx ', '')}`], {
    cwd: folder.path,
    env,
    stdio: 'ignore',
  })
  try {
    const spans = new Set<string>()
    receiver.on('received', received => {
      for (const { name } of received.spans) spans.add(name)
    })
    const isReady = (): boolean => spawnSync('sh', ['-c', script('health')], { cwd: folder.path, env }).status === 0
    await expect.poll(isReady, { interval: 200 }).toBe(true)
    follow('webhook')
    await expect.poll(() => [...spans].filter(name => name.startsWith('job: ')).length).toBe(4)
    expect([...spans].filter(name => name.startsWith('pipeline: '))).toHaveLength(1)
    daemon.kill('SIGTERM')
    await expect(once(daemon, 'exit')).resolves.toEqual([0, null])
  } finally {
    daemon.kill('SIGKILL')
    await receiver.close()
  }
})
