// Events around pipelines on the shipped daemon: told by a project's hook and a group's hook at once, resent, shuffled, through kills: each is
// exported once.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Daemon } from './daemon.ts'
import { eventFile, eventFiles } from '../fixtures/event-files.ts'
import { freePorts } from '../../src/demo/daemon-process.ts'
import { isFull, report } from './load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/demo/platform/random.ts'
import type { ReceivedLogRecord } from '../../src/demo/otlp-logs.ts'

const size = isFull ? { events: 100_000, flags: 500, kills: 20 } : { events: 150, flags: 4, kills: 2 }
const patience = isFull ? 1_800_000 : 300_000
const seed = isFull ? Date.now() % 1_000_000 : 7

interface Sent {
  readonly event: string
  readonly body: string
  readonly key: string
}

/** The fixture with other fields: `object_attributes.id`. */
function payload(name: string, changes: Readonly<Record<string, unknown>>): Omit<Sent, 'key'> {
  const { event, text } = eventFile(name)
  const json = JSON.parse(text) as Record<string, unknown>
  for (const [path, value] of Object.entries(changes)) {
    const [field = '', inner] = path.split('.')
    if (inner === undefined) json[field] = value
    else json[field] = { ...(json[field] as object), [inner]: value }
  }
  return { event, body: JSON.stringify(json) }
}

/** One that is known again by what it says, whatever order it comes in. */
function mixed(n: number): Omit<Sent, 'key'> {
  const second = new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString()
  const sha = `f${n.toString(16).padStart(39, '0')}`
  switch (n % 5) {
    case 0:
      return payload('deployment', { deployment_id: n + 1, status_changed_at: second })
    case 1:
      return payload('change', { 'object_attributes.id': n + 1, 'object_attributes.updated_at': second })
    case 2:
      return payload('push', { after: sha })
    case 3:
      return payload('note', { 'object_attributes.id': n + 1, 'object_attributes.updated_at': second })
    default:
      return payload('release', { tag: `v${n}` })
  }
}

/** Sends until it is acknowledged: a daemon that was killed takes it in its next life. */
async function send(daemon: Daemon, { event, body, key }: Sent): Promise<void> {
  for (;;) {
    const headers = {
      'x-service-event': event,
      'x-service-instance': 'https://git.example.com',
      'idempotency-key': key,
    }
    const status = await daemon.post(body, headers).then(
      async answer => {
        await answer.body?.cancel()
        return answer.status
      },
      () => 0,
    )
    if (status === 202 || status === 200) return
    await sleep(20)
  }
}

/** What tells one record from all others. */
function nameOf({ eventName, body, time, attributes }: ReceivedLogRecord): string {
  const when = eventName === 'platform.vcs.push' || eventName === 'platform.release' ? 0 : time
  const ids = ['deployment.id', 'platform.release.tag', 'platform.note.id', 'vcs.ref.head.revision'] as const
  return JSON.stringify([eventName, body, when, ...ids.map(key => attributes[key] ?? '')])
}

describe('events', () => {
  it(
    'are exported once each, through two hooks, resends and kills; a flag that goes on, off and on is three',
    async () => {
      const random = new Random(seed)
      const receiver = await OtlpReceiver.start()
      onTestFinished(async () => receiver.close())
      const [port = 0] = await freePorts(1)
      const daemon = await Daemon.start({
        PIPESPAN_LISTEN: `127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        SERVICE_OBSERVABILITY_EXPORT: 'logs',
        PIPESPAN_EVENTS: 'all',
        // No job of them is known: what waits for one in vain goes after that.
        PIPESPAN_ENRICH_DEADLINE: '1s',
      })
      const queue: Sent[] = []
      for (let n = 0; n < size.events; n += 1) {
        const one = mixed(n)
        const ofProject = { ...one, key: random.uuid() }
        const again = random.chance(0.2) ? [ofProject] : []
        queue.push(ofProject, { ...one, key: random.uuid() }, ...again)
      }
      const shuffled = random.shuffle(queue)
      const flag = async (id: number): Promise<void> => {
        for (const active of [true, false, true]) {
          const one = payload('feature_flag', {
            'object_attributes.id': id,
            'object_attributes.name': `f${id}`,
            'object_attributes.active': active,
          })
          for (let hook = 0; hook < 2; hook += 1) await send(daemon, { ...one, key: random.uuid() })
        }
      }
      const work = async (): Promise<void> => {
        for (let next: Sent | undefined; (next = shuffled.pop()) !== undefined;) await send(daemon, next)
      }
      const flags = Array.from({ length: size.flags }, (_, id) => id + 1)
      const load = Promise.all([
        ...Array.from({ length: 8 }, work),
        ...Array.from({ length: 4 }, async () => {
          for (let id: number | undefined; (id = flags.pop()) !== undefined;) await flag(id)
        }),
      ])
      for (let kills = 0; kills < size.kills; kills += 1) {
        await sleep(random.between(50, 400))
        await daemon.kill()
        await daemon.restart()
      }
      await load

      const expected = size.events + 3 * size.flags
      const names = (): Set<string> => new Set(receiver.logs.map(nameOf))
      const deadline = Date.now() + patience / 2
      while (names().size < expected && Date.now() < deadline) await sleep(100)
      expect(names().size).toBe(expected)
      expect(await daemon.stop()).toEqual({ code: 0, signal: null })
      const db = new DatabaseSync(daemon.storeFile)
      const count = (sql: string): number => Number(db.prepare(sql).get()?.n)
      expect(count('SELECT count(*) AS n FROM events')).toBe(expected)
      expect(count(`SELECT count(*) AS n FROM outbox WHERE state <> 'delivered'`)).toBe(0)
      db.close()
      // On, off, on, in this order, by their times.
      const ofFirst = receiver.logs.filter(({ attributes }) => attributes['feature_flag.key'] === 'f1')
      const states = new Map(
        ofFirst.sort((a, b) => a.time - b.time).map(one => [one.time, one.attributes['platform.feature_flag.active']]),
      )
      expect([...states.values()]).toEqual([true, false, true])
      const repeated = receiver.logs.length - expected
      // A send that a kill cut off is repeated: nothing else.
      expect(repeated).toBeLessThanOrEqual(size.kills * 1_000)
      if (isFull)
        report({ seed, events: expected, deliveries: queue.length + 6 * size.flags, kills: size.kills, repeated })
    },
    patience,
  )

  it('of every kind reach the backend as log records with a name, in a scope of their own, of the project; none that is not selected', async () => {
    const receiver = await OtlpReceiver.start()
    onTestFinished(async () => receiver.close())
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
      PIPESPAN_ENRICH_DEADLINE: '1s',
    }
    const daemon = await Daemon.start({ ...env, PIPESPAN_EVENTS: 'all', PIPESPAN_ATTRIBUTES_HASH: 'user.name' })
    for (const [at, { event, text }] of eventFiles.entries())
      await send(daemon, { event, body: text, key: `all-${at}` })
    await waitFor(() => receiver.logs.length === eventFiles.length)
    for (const { eventName, scope, severityText, resource, attributes, traceId } of receiver.logs) {
      expect(eventName).toMatch(/^platform\.[a-z_.]+$/)
      expect(scope.name).toBe('pipespan.events')
      expect([severityText, traceId]).toEqual(['', undefined])
      expect(resource.attributes['service.name']).toMatch(/^(?:Shop|Cups|shop|team|team\/leaves)$/)
      if (attributes['user.name'] !== undefined) expect(attributes['user.name']).toMatch(/^[0-9a-f]{32}$/)
    }
    expect(receiver.spans).toEqual([])
    const warned = receiver.logs.filter(({ severityNumber }) => severityNumber === 13)
    expect(warned.map(({ eventName }) => eventName)).toEqual(Array(2).fill('platform.access_token.expiring'))

    await daemon.stop()
    await daemon.restart({ PIPESPAN_EVENTS: 'none' })
    const answers = eventFiles.map(async ({ event, text }, at) =>
      daemon.post(text, { 'x-service-event': event, 'idempotency-key': `none-${at}` }),
    )
    for (const answer of await Promise.all(answers)) expect(answer.ok).toBe(true)
    await waitFor(async () => {
      const text = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
      const ignored = [...text.matchAll(/outcome="ignored"[^}]*} (\d+)/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      )
      return ignored === eventFiles.length
    })
    expect(receiver.logs).toHaveLength(eventFiles.length)
  })
})

async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 180_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('it did not come to be')
    await sleep(50)
  }
}
