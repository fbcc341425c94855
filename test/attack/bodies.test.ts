// Strangers whose deliveries look signed: the signature is only known to be wrong once the body is whole. However many claim 25 MiB,
// and whatever they send of it, every honest delivery is taken, within the memory of a container.
//
// The strangers' process is nice (10): what is tried is whether the daemon takes from the honest sender, not who gets a processor.
import { expect, it } from 'vitest'
import { isFull, report } from '../e2e/load.ts'
import { pipelineBody, post, signedHeaders, signingToken } from './honest.ts'
import { smallHeap, startWithin } from './limited.ts'
import { flood } from './strangers.ts'
import type { FloodKind } from './flood.ts'

const kinds: readonly FloodKind[] = ['claims', 'dribbles', 'stalls', 'pours', 'comes']
const quiet: readonly FloodKind[] = ['claims', 'dribbles']
const singles = kinds.flatMap(kind => [3, ...(quiet.includes(kind) ? [1_000] : [])].map(n => ({ mix: [kind], n })))
const short = [{ mix: kinds, n: 25, mebibytes: 512 }]
const full = [
  ...singles.map(one => ({ ...one, mebibytes: 512 })),
  ...[{ mix: kinds, n: 25 }, ...singles.filter(({ n }) => n === 1_000)].map(one => ({ ...one, mebibytes: 256 })),
]
const honest = isFull ? 200 : 12
/** Bytes; the last one as large as the platform sends any. */
const large = isFull ? [1_000_000, 8_000_000, 25_000_000] : [8_000_000]

/** Where strangers come from: elsewhere, or through the same proxy as the platform. */
const places = { 'from elsewhere': '127.0.0.1', 'through the same proxy': '127.0.0.2' }
const platform = '127.0.0.2'

const cases = (isFull ? [...short, ...full] : short).flatMap(({ n, ...one }) =>
  Object.entries(places).map(([place, from]) => ({ ...one, connections: n, place, from })),
)

it.each(cases)(
  'accepts all honest deliveries while $connections strangers $place, who $mix, within $mebibytes MiB',
  async found => {
    const { mix, connections, place, from, mebibytes } = found
    const settings = { PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken, PIPESPAN_WEBHOOK_TOKEN: undefined }
    const { daemon, memory } = await startWithin(mebibytes, settings, mebibytes === 256 ? smallHeap : [])
    let id = 0
    let slowest = 0
    const deliver = async (bytes = 25_000): Promise<number> => {
      id += 1
      const body = pipelineBody(id, bytes)
      const since = performance.now()
      const status = await post(daemon.webhooks, body, signedHeaders(body, `honest-${id}`), { localAddress: platform })
      slowest = Math.max(slowest, performance.now() - since)
      return status
    }
    const statuses = [await deliver()]
    const strangers = await flood({
      port: Number(new URL(daemon.url).port),
      connections,
      kinds: mix,
      localAddress: from,
      nice: 10,
    })
    slowest = 0
    while (id < honest) statuses.push(...(await Promise.all([deliver(), deliver(), deliver()])))
    // A large body among strangers who pour through the same proxy is one of theirs, as far as anybody can tell.
    if (!mix.includes('pours') || from !== platform) for (const bytes of large) statuses.push(await deliver(bytes))
    const { opened, sent } = await strangers.figures()
    expect(statuses).toEqual(statuses.map(() => 202))
    const during = Math.round(slowest)
    await strangers.end()
    const since = performance.now()
    expect(await deliver(25_000_000)).toBe(202)
    const recovered = Math.round(performance.now() - since)
    const figures = { who: mix.join(', '), connections, place, mebibytes, opened, sentMb: Math.round(sent / 1e6) }
    report({ ...figures, honestTaken: statuses.length, slowest: during, recovered, ...memory() })
    expect(daemon.process.log.filter(({ level }) => level >= 50).slice(0, 3)).toEqual([])
  },
)
