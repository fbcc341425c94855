// Tests events other than pipeline events on the shipped daemon. A project's hook and a group's hook both send them, resent and shuffled, while the
// daemon is killed and the clock is changed. Each event is exported once, and events without a time of their own are exported in order.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { announced, markOf, markOfRecord, mixed, story, type EventBody } from './mixed-events.ts'
import { Daemon } from './daemon.ts'
import { eventFiles } from '../fixtures/event-files.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { isFull, report } from './load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import type { ReceivedLogRecord } from '../support/otlp-decode.ts'

/** `stories` is the number of objects with events that have no version. `rounds` is how often each token's coming expiry is announced. */
const size = isFull
  ? { events: 100_000, stories: 2_000, tokens: 100, rounds: 4, kills: 20 }
  : { events: 150, stories: 15, tokens: 3, rounds: 3, kills: 2 }
const timeoutMs = isFull ? 3_600_000 : 900_000
const seed = isFull ? Number(process.env.PIPESPAN_TEST_SEED ?? Date.now() % 1_000_000) : 7
const minute = 60_000
/** The maximum memory of each daemon process in bytes, however many events there are. */
const maxMemory = 512 * 1024 * 1024

interface Sent extends EventBody {
  readonly key: string
}

/** Sends a delivery until it is acknowledged. If the daemon is killed, its next process takes in the delivery. */
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

/** Returns a name that distinguishes a record from all others. A record that is sent again has the same name. */
function nameOf(record: ReceivedLogRecord): string {
  return JSON.stringify([record.eventName, markOfRecord(record), record.body, record.time])
}

describe('event export', () => {
  it(
    "exports each event once, including each feature flag change and each announcement of a token's expiry, despite two hooks, resends, kills and clock changes",
    async () => {
      const random = new Random(seed)
      const receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
      /** The bodies of the received records with the times of the records, by the mark of the event. */
      const arrived = new Map<string, Map<number, string>>()
      const names = new Set<string>()
      let records = 0
      receiver.on('received', ({ logs }) => {
        for (const record of logs) {
          records += 1
          const name = nameOf(record)
          if (names.has(name)) continue
          names.add(name)
          const mark = markOfRecord(record)
          arrived.set(
            mark,
            (arrived.get(mark) ?? new Map<number, string>()).set(record.time, JSON.stringify(record.body)),
          )
        }
      })
      const [port = 0] = await freePorts(1)
      const clock = path.join(temporaryFolder(), 'off')
      writeFileSync(clock, '0')
      const daemon = await Daemon.start(
        {
          CLOCK_OFF_BY: clock,
          PIPESPAN_LISTEN: `127.0.0.1:${port}`,
          OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
          SERVICE_OBSERVABILITY_EXPORT: 'logs',
          PIPESPAN_EVENTS: 'all',
          // The deadline for an event that waits for the span of its job. These events belong to jobs that the daemon does not know, so all of them
          // wait until the deadline.
          PIPESPAN_ENRICH_DEADLINE: '1s',
        },
        ['--import', path.join(import.meta.dirname, 'set-clock.ts')],
      )
      const versioned = size.events - 3 * size.stories - size.rounds * size.tokens
      const queue: { readonly n: number; readonly key: string }[] = []
      for (let n = 0; n < versioned; n += 1) {
        const ofProject = { n, key: random.uuid() }
        queue.push(ofProject, { n, key: random.uuid() }, ...(random.chance(0.2) ? [ofProject] : []))
      }
      const shuffled = random.shuffle(queue)
      const deliveries = shuffled.length + 2 * (size.events - versioned)

      let sent = 0
      const work = async (): Promise<void> => {
        for (let next: { n: number; key: string } | undefined; (next = shuffled.pop()) !== undefined; sent += 1)
          await send(daemon, { ...mixed(next.n), key: next.key })
      }
      const sendThroughBothHooks = async (one: EventBody): Promise<void> => {
        for (let hook = 0; hook < 2; hook += 1) await send(daemon, { ...one, key: random.uuid() })
      }
      const stories = Array.from({ length: size.stories }, (_, n) => n)
      /** Announces once for each token that it will expire, then sends the events of this round's objects (`stories`), one object after another. */
      const sendRound = async (round: number): Promise<void> => {
        for (let n = 0; n < size.tokens; n += 1) await sendThroughBothHooks(announced(n))
        for (const n of stories.filter(one => one % size.rounds === round)) {
          for (const one of story(n).reported) await sendThroughBothHooks(one)
        }
      }

      const load = Promise.all(Array.from({ length: 8 }, work))
      let peak = 0
      let round = sendRound(0)
      for (let kill = 1; kill <= size.kills; kill += 1) {
        const due = Math.floor((kill * queue.length) / (size.kills + 1))
        while (sent < due) await sleep(5)
        const at = Math.floor((kill * size.rounds) / (size.kills + 1))
        const isNext = at > Math.floor(((kill - 1) * size.rounds) / (size.kills + 1))
        // An announcement counts as a new event only if it comes more than ten minutes after an identical one. So the clock is set forward by more
        // than ten minutes after each round, and within a round it is set back or forward by less than that.
        if (isNext) await round
        peak = Math.max(peak, daemon.memory().peak)
        await daemon.kill()
        writeFileSync(clock, String(at * 20 * minute - random.whole(0, 5) * minute))
        await daemon.restart()
        if (isNext) round = sendRound(at)
      }
      await Promise.all([load, round])

      await receiver.until(() => names.size >= size.events, timeoutMs / 4)
      peak = Math.max(peak, daemon.memory().peak)
      expect(await daemon.stop()).toEqual({ code: 0, signal: null })
      expect(names.size).toBe(size.events)
      const db = new DatabaseSync(daemon.storeFile)
      const count = (sql: string): number => Number(db.prepare(sql).get()?.n)
      expect(count('SELECT count(*) AS n FROM events')).toBe(size.events)
      expect(count('SELECT count(*) AS n FROM outbox')).toBe(0)
      db.close()

      const inOrder = (mark: string): string[] =>
        [...(arrived.get(mark) ?? [])].toSorted(([a], [b]) => a - b).map(([, body]) => JSON.parse(body) as string)
      for (let n = 0; n < versioned; n += 1) expect([n, inOrder(markOf(n)).length]).toEqual([n, 1])
      for (const n of stories) expect([n, inOrder(story(n).mark)]).toEqual([n, story(n).bodies])
      for (let n = 0; n < size.tokens; n += 1) expect([n, inOrder(`t${n}`).length]).toEqual([n, size.rounds])
      // A record is repeated only if a kill interrupted its request.
      const repeated = records - size.events
      expect(repeated).toBeLessThanOrEqual(size.kills * 1_000)
      expect(peak).toBeLessThan(maxMemory)
      if (isFull) report({ seed, events: size.events, deliveries, kills: size.kills, repeated, peak })
    },
    timeoutMs,
  )

  it("exports events of every selected kind as named log records in their own scope, with the project's resource", async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
      PIPESPAN_ENRICH_DEADLINE: '1s',
    }
    const daemon = await Daemon.start({ ...env, PIPESPAN_EVENTS: 'all', PIPESPAN_ATTRIBUTES_HASH: 'user.name' })
    for (const [at, { event, text }] of eventFiles.entries())
      await send(daemon, { event, body: text, key: `all-${at}` })
    await receiver.until(() => receiver.logs.length === eventFiles.length)
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
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  })
})
