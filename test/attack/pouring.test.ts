// A thousand strangers who pour forged signed bodies as fast as they are taken, over and over: from elsewhere, through the platform's
// own proxy that names addresses, and through one that hides them. Every honest delivery of usual size is taken, within the memory of a
// small container, and within the platform's timeout as far as it can be observed from the others. Where the platform shows a token
// beside its signature, it can be told from the others whatever proxy they come through, and deliveries of every size are taken.
//
// The strangers' process is nice (10): the test asks whether the daemon takes from the honest sender, not who gets a processor.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { isFull, report } from '../e2e/load.ts'
import { webhookToken } from '../e2e/daemon.ts'
import { pipelineBody, post, signedHeaders, signingToken } from './honest.ts'
import { smallHeap, startWithin } from './limited.ts'
import { flood } from './strangers.ts'
import type { FloodKind } from './flood.ts'

/** Milliseconds until the platform gives a delivery up. */
const timeoutMs = 10_000
const platform = '127.0.0.2'

interface Place {
  readonly place: string
  readonly from: string
  readonly forwarded?: boolean
}

const elsewhere: Place = { place: 'from elsewhere', from: '127.0.0.1' }
const hidden: Place = { place: 'by a proxy that hides them', from: platform }
const named: Place = { place: 'by a proxy that names them', from: platform, forwarded: true }

const who = {
  'pour 25 MiB': ['pours'],
  'pour a megabyte': ['pours a megabyte'],
  'pour 25 kB': ['pours as much as usual'],
  'pour all sizes': ['pours', 'pours a megabyte', 'pours as much as usual'],
} satisfies Record<string, readonly FloodKind[]>

interface Case extends Place {
  readonly connections: number
  readonly who: keyof typeof who
  readonly mebibytes: number
  /** What honest deliveries show. */
  readonly shown: 'a signature' | 'a token beside their signature'
  /** Nobody can tell the honest ones from the others: all are taken, and how late is reported, not promised. */
  readonly late?: true
}

const signature = { shown: 'a signature' } as const
const both = { shown: 'a token beside their signature' } as const
const few = { ...hidden, connections: 100, who: 'pour all sizes', mebibytes: 512 } as const
const short: readonly Case[] = [
  { ...few, ...signature },
  { ...few, ...both },
]
const thousand = { connections: 1_000, mebibytes: 512, ...signature }
const full: readonly Case[] = [
  ...[elsewhere, named, hidden].flatMap((place): Case[] => [
    { ...place, ...thousand, who: 'pour 25 MiB' },
    { ...place, ...thousand, who: 'pour all sizes', ...(place === hidden && { late: true }) },
  ]),
  { ...hidden, ...thousand, who: 'pour a megabyte' },
  { ...hidden, ...thousand, who: 'pour 25 kB' },
  { ...hidden, ...thousand, who: 'pour 25 MiB', mebibytes: 256 },
  { ...hidden, ...thousand, who: 'pour all sizes', mebibytes: 256, late: true },
  ...[512, 256].flatMap((mebibytes): Case[] => [
    { ...hidden, ...thousand, ...both, who: 'pour 25 MiB', mebibytes },
    { ...hidden, ...thousand, ...both, who: 'pour all sizes', mebibytes },
  ]),
]
/** Bytes of larger deliveries, one after the other. */
const larger = isFull ? [1_000_000, 8_000_000, 25_000_000] : [3_000_000]

it.each(isFull ? [...short, ...full] : short)(
  'accepts all honest deliveries with $shown while $connections strangers $place, who $who, within $mebibytes MiB',
  async ({ place, from, forwarded = false, connections, who: which, mebibytes, shown, late }) => {
    const settings = {
      PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken,
      PIPESPAN_WEBHOOK_TOKEN: shown === both.shown ? webhookToken : undefined,
      PIPESPAN_TRUST_PROXY: forwarded ? 'true' : undefined,
    }
    const { daemon, memory } = await startWithin(mebibytes, settings, mebibytes === 256 ? smallHeap : [])
    const taken: { bytes: number; status: number; ms: number }[] = []
    let id = 0
    const deliver = async (bytes: number): Promise<void> => {
      id += 1
      const body = pipelineBody(id, bytes)
      const headers = {
        ...signedHeaders(body, `honest-${id}`),
        ...(forwarded && { 'x-forwarded-for': '198.51.100.7' }),
        ...(shown === both.shown && { 'x-service-token': webhookToken }),
      }
      const since = performance.now()
      // 0: cut off.
      const status = await post(daemon.webhooks, body, headers, { localAddress: platform }).catch(() => 0)
      taken.push({ bytes, status, ms: Math.round(performance.now() - since) })
    }
    await deliver(25_000)
    const port = Number(new URL(daemon.url).port)
    const strangers = await flood({ port, connections, kinds: who[which], localAddress: from, forwarded, nice: 10 })
    // All of them are under way, not only connected.
    await expect.poll(async () => (await strangers.figures()).sent).toBeGreaterThan(connections * 25_000)
    if (isFull) await sleep(2_000)
    for (let round = 0; round < (isFull ? 8 : 2); round += 1) {
      await Promise.all([deliver(25_000), deliver(25_000), deliver(200_000)])
    }
    if (isFull || shown === both.shown) for (const bytes of larger) await deliver(bytes)
    const { opened, sent, answers } = await strangers.figures()
    await strangers.end()
    const during = taken.slice(1)
    await deliver(25_000)
    const slowest = (bytes: number): number =>
      Math.max(...during.filter(one => one.bytes === bytes).map(({ ms }) => ms))
    const large = during
      .filter(({ bytes }) => bytes > 200_000)
      .map(({ bytes, status, ms }) => `${bytes}: ${status} ${ms}`)
    report({
      ...{ connections, place, who: which, mebibytes, shown, opened, sentMb: Math.round(sent / 1e6) },
      ...{ answers: JSON.stringify(answers), honest: id, slowest: slowest(25_000), slowest200: slowest(200_000) },
      ...{ large: large.join(', '), recovered: taken.at(-1)?.ms ?? 0, ...memory() },
    })
    const promised = shown === both.shown ? Infinity : 200_000
    expect(taken.filter(({ bytes, status }) => bytes <= promised && status !== 202)).toEqual([])
    if (isFull && late === undefined) expect(Math.max(slowest(25_000), slowest(200_000))).toBeLessThan(timeoutMs)
    expect(daemon.process.log.filter(({ level }) => level >= 50).slice(0, 3)).toEqual([])
  },
  300_000,
)
