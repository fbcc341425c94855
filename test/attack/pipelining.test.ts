// Strangers whose connections are never without a request that is refused: hundreds sent at once, again and again, or eight at a time as
// soon as the last eight have been answered. Every honest delivery is taken, on a connection that was kept and on new ones.
//
// The strangers' process is nice (10): what is tried is whether the daemon serves the honest sender, not who gets a processor.
import { Agent } from 'node:http'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { pipelineBody, post, type SentFrom } from './honest.ts'
import { flood } from './strangers.ts'
import type { FloodKind } from './flood.ts'

const all: readonly FloodKind[] = ['pipelines', 'hurries']
const short = [{ connections: 40, kinds: all }]
const full = [
  ...all.map(kind => ({ connections: 200, kinds: [kind] })),
  ...[200, 1_500].map(connections => ({ connections, kinds: all })),
]
const honest = isFull ? 100 : 12
/** Milliseconds until the platform gives a delivery up. */
const timeoutMs = 10_000

it.each(isFull ? [...short, ...full] : short)(
  'accepts all honest deliveries while $connections strangers $kinds',
  async ({ connections, kinds }) => {
    const daemon = await Daemon.start()
    const headers = { 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook' }
    const agent = closeAfterTest(new Agent({ keepAlive: true, maxSockets: 1 }))
    let id = 0
    const deliver = async (from: SentFrom): Promise<{ status: number; ms: number }> => {
      id += 1
      const since = performance.now()
      const body = pipelineBody(id)
      const status = await post(daemon.webhooks, body, { ...headers, 'x-service-token': webhookToken }, from)
      return { status, ms: Math.round(performance.now() - since) }
    }
    const onKept = { localAddress: '127.0.0.9', agent }
    expect((await deliver(onKept)).status).toBe(202)
    const { port } = new URL(daemon.url)
    const strangers = await flood({ port: Number(port), connections, kinds, localAddress: '127.0.0.1', nice: 10 })
    const kept = []
    const fresh = []
    while (id < honest) {
      kept.push(await deliver(onKept))
      // From an address that was never here before.
      fresh.push(await deliver({ localAddress: `127.0.1.${id % 250}` }))
    }
    const { opened, sent } = await strangers.figures()
    expect([...kept, ...fresh].filter(({ status }) => status !== 202)).toEqual([])
    await strangers.end()
    const { status, ms: recovered } = await deliver({})
    expect(status).toBe(202)
    const slowest = Math.max(...fresh.map(({ ms }) => ms))
    const slowestKept = Math.max(...kept.map(({ ms }) => ms))
    const figures = { connections, opened, sentMb: Math.round(sent / 1e6), honest: id, slowest, slowestKept, recovered }
    report({ ...figures, peakMb: Math.round(daemon.memory().peak / 1e6), logLines: daemon.process.log.length })
    if (isFull) expect(Math.max(slowest, slowestKept)).toBeLessThan(timeoutMs)
    expect(daemon.process.log.filter(({ level }) => level >= 50).slice(0, 3)).toEqual([])
  },
  200_000,
)
