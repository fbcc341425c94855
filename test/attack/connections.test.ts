// Strangers who hold connections, as many as they can get and more than there are descriptors: every honest delivery is taken all the
// same, also from a sender who was never here before, and nothing ends the daemon.
import { Agent } from 'node:http'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { pipelineBody, post } from './honest.ts'
import { smallHeap, startWithin } from './limited.ts'
import { flood } from './strangers.ts'
import type { FloodKind } from './flood.ts'

const kinds: readonly FloodKind[] = ['idles', 'lingers', 'drips', 'half closes', 'claims', 'dribbles']
const honest = isFull ? 200 : 10
const platform = '127.0.0.2'

interface Case {
  readonly name: string
  readonly kinds: readonly FloodKind[]
  readonly connections: number
  readonly openFiles?: number
  /** 512. */
  readonly mebibytes?: number
}

const short: readonly Case[] = [
  { name: '330 connections of all kinds, with 256 descriptors', kinds, connections: 330, openFiles: 256 },
]
const full: readonly Case[] = [
  { name: '650 connections of all kinds, with 512 descriptors', kinds, connections: 650, openFiles: 512 },
  { name: '1,300 connections of all kinds, with 1,024 descriptors', kinds, connections: 1_300, openFiles: 1_024 },
  { name: '2,500 idle connections', kinds: ['idles'], connections: 2_500 },
  { name: '2,100 kept connections', kinds: ['lingers'], connections: 2_100 },
  { name: '2,100 connections that drip', kinds: ['drips'], connections: 2_100 },
  { name: '1,300 connections of all kinds, within 256 MiB', kinds, connections: 1_300, mebibytes: 256 },
  { name: '2,500 idle connections, within 256 MiB', kinds: ['idles'], connections: 2_500, mebibytes: 256 },
  { name: '2,100 half-closed connections', kinds: ['half closes'], connections: 2_100 },
  { name: '1,224 kept connections, with 1,024 descriptors', kinds: ['lingers'], connections: 1_224, openFiles: 1_024 },
]

it.each(isFull ? [...short, ...full] : short)('accepts all honest deliveries: $name', async found => {
  const { connections, openFiles, mebibytes = 512 } = found
  const { daemon, memory } = await startWithin(mebibytes, {}, mebibytes === 256 ? smallHeap : [], openFiles)
  const headers = { 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook' }
  const agent = closeAfterTest(new Agent({ keepAlive: true, maxSockets: 1 }))
  let id = 0
  let slowest = 0
  const deliver = async (from: { localAddress?: string; agent?: Agent }): Promise<number> => {
    id += 1
    const since = performance.now()
    const status = await post(daemon.webhooks, pipelineBody(id), { ...headers, 'x-service-token': webhookToken }, from)
    slowest = Math.max(slowest, performance.now() - since)
    return status
  }
  const kept = [await deliver({ localAddress: '127.0.0.9', agent })]
  const port = Number(new URL(daemon.url).port)
  const strangers = await flood({ port, connections, kinds: found.kinds, localAddress: '127.0.0.1' })
  const admin = {
    port: Number(new URL(daemon.adminUrl).port),
    connections: isFull ? 400 : 100,
    kinds: ['lingers'] as const,
  }
  const lookers = await flood({ ...admin, localAddress: '127.0.0.1' })
  slowest = 0
  const statuses: number[] = []
  while (id < honest) statuses.push(await deliver({ localAddress: platform }))
  // Whoever keeps a connection that has shown the secret, keeps it.
  kept.push(await deliver({ localAddress: '127.0.0.9', agent }))
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(1)
  expect(statuses).toEqual(statuses.map(() => 202))
  expect(kept).toEqual([202, 202])
  await expect.poll(async () => (await fetch(`${daemon.adminUrl}/readyz`)).status).toBe(200)
  const { opened } = await strangers.figures()
  const during = Math.round(slowest)
  await Promise.all([strangers.end(), lookers.end()])
  const since = performance.now()
  expect(await deliver({})).toBe(202)
  const recovered = Math.round(performance.now() - since)
  const honestTaken = statuses.length + kept.length
  const figures = { who: found.name, connections, mebibytes, opened, honestTaken, slowest: during, recovered }
  report({ ...figures, ...memory() })
  expect(daemon.process.log.filter(({ level }) => level >= 50).slice(0, 3)).toEqual([])
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
})

/** Takes all descriptors that are left, whoever would have needed them, until a file appears. */
function takesDescriptors(file: string): string[] {
  const preload = `
    import { closeSync, existsSync, openSync } from 'node:fs'
    import { isMainThread } from 'node:worker_threads'
    const held = []
    const take = () => {
      if (existsSync(${JSON.stringify(`${file}.end`)})) {
        for (const one of held.splice(0)) closeSync(one)
        return
      }
      if (existsSync(${JSON.stringify(file)})) try { for (;;) held.push(openSync('/dev/null')) } catch {}
    }
    if (isMainThread) setInterval(take, 5).unref()`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

it('survives without any free descriptor, and accepts deliveries again once there are some', async () => {
  const sign = path.join(temporaryFolder(), 'now')
  const daemon = await Daemon.start({}, takesDescriptors(sign), 256)
  const headers = { 'x-service-event': 'Pipeline Hook' }
  writeFileSync(sign, '')
  let refused = 0
  for (let at = 0; refused < 20; at += 1) {
    // One that nobody can even turn away waits in the system's queue.
    const signal = AbortSignal.timeout(2_000)
    const whole = {
      'content-type': 'application/json',
      'x-service-token': webhookToken,
      ...headers,
      connection: 'close',
    }
    await fetch(daemon.webhooks, { method: 'POST', headers: whole, body: pipelineBody(100 + at), signal }).then(
      async answer => answer.body?.cancel(),
      () => (refused += 1),
    )
  }
  expect(daemon.process.child.exitCode).toBeNull()
  writeFileSync(`${sign}.end`, '')
  const taken = async (): Promise<number> =>
    daemon.post(pipelineBody(1), headers).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(taken).toBe(202)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
})
