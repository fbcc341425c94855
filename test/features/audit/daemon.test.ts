// Tests audit events on the shipped program. A backfill of forty days is killed again and again, alongside a daemon that reads new events, some of
// which appear late in the list. Each event is exported once.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Daemon, ProgramProcess } from '../../e2e/daemon.ts'
import { isFull, report } from '../../e2e/load.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'

const size = isFull ? { past: 10_000, live: 400, kills: [20, 50, 80] } : { past: 600, live: 30, kills: [3, 6] }
const timeoutMs = 900_000
const day = 24 * 3_600_000

it(
  'exports each audit event of the last forty days and of today once, even if the backfill is killed and events appear late',
  async () => {
    const begun = Date.now()
    const random = new Random(isFull ? begun % 1_000_000 : 5)
    const state = new PlatformState()
    const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token: 'pat-audit' }))
    const receiver = closeAfterTest(await OtlpReceiver.start())
    for (let n = 0; n < size.past; n += 1) state.audit.happen(random, begun - (1 - n / size.past) * 39.9 * day)
    state.audit.events.sort(() => random.next() - 0.5)

    const daemon = await Daemon.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      SERVICE_OBSERVABILITY_EXPORT: 'logs',
      PIPESPAN_PLATFORM_URL: api.url,
      PIPESPAN_PLATFORM_TOKEN: 'pat-audit',
      PIPESPAN_PLATFORM_BUDGET: '100000',
      PIPESPAN_POLL_INTERVAL: '1s',
      PIPESPAN_AUDIT: 'instance',
    })
    let asked = 0
    let victim: ProgramProcess | undefined
    const kills = [...size.kills]
    api.misbehave = ({ path, query }) => {
      // Only a backfill's requests have an end time: the daemon reads up to now.
      if (path !== '/audit_events' || !query.has('created_before')) return undefined
      asked += 1
      if (asked >= (kills[0] ?? Infinity) && kills.shift() !== undefined) victim?.child.kill('SIGKILL')
      return undefined
    }
    const backfill = async (): Promise<{ code: number | null; signal: string | null; out: string }> => {
      victim = new ProgramProcess(['backfill', '--audit', '--since', '40d'], daemon.env)
      const { code, signal } = await victim.ended
      return { code, signal, out: victim.stdout + victim.stderr }
    }
    while (kills.length > 0) expect(await backfill()).toMatchObject({ signal: 'SIGKILL' })
    const late: number[] = []
    const live = (async () => {
      for (let n = 0; n < size.live; n += 1) {
        const { id } = state.audit.happen(random, Date.now() - random.between(0, 240_000))
        late.push(id)
        await sleep(10)
      }
    })()
    const done = await backfill()
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining(', resumed:') as string })
    await live

    const expected = state.audit.events.length
    const ids = (): string[] => receiver.logs.map(({ attributes }) => JSON.stringify(attributes['platform.audit.id']))
    const deadline = Date.now() + timeoutMs / 2
    while (new Set(ids()).size < expected && Date.now() < deadline) await sleep(50)
    expect(late.filter(id => !ids().includes(`"${id}"`))).toEqual([])
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    const found = ids()
    expect([found.length, new Set(found).size]).toEqual([expected, expected])
    const db = new DatabaseSync(daemon.storeFile)
    const count = (sql: string): number => Number(db.prepare(sql).get()?.n)
    expect(count(`SELECT count(*) AS n FROM events WHERE kind = 'audit'`)).toBe(expected)
    expect(count('SELECT count(*) AS n FROM outbox')).toBe(0)
    db.close()
    const [record] = receiver.logs
    expect(record?.eventName).toBe('platform.audit')
    expect(record?.scope.name).toBe('pipespan.events')
    expect(
      JSON.stringify(receiver.logs.map(({ body, attributes, resource }) => [body, attributes, resource.attributes])),
    ).not.toMatch(/203\.0\.113\.7|@brightwater/)
    expect(daemon.output + done.out).not.toContain('pat-audit')
    if (isFull)
      report({
        events: expected,
        late: late.length,
        kills: size.kills.length,
        requests: asked,
        tookMs: Date.now() - begun,
      })
  },
  timeoutMs,
)
