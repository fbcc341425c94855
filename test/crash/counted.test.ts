// Deployments and incidents are counted in separate transactions. A daemon that is killed before or after such a transaction counts each of them
// once, and its totals continue after the restart.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { countedPoints, momentsOn, nameOf } from './points.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull } from '../full.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { payload, type EventBody } from '../e2e/mixed-events.ts'
import { shiftClock } from '../core/store/postgres-server.ts'

/** Number of deployments, and of incidents, that are reported to each process of the daemon. */
const reported = 3
/** A time longer than any lease, ms. */
const leases = 300_000

function deployment(n: number): EventBody {
  return payload('deployment', {
    deployment_id: n,
    deployable_id: 10_000 + n,
    status_changed_at: new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString(),
  })
}

const now = Date.now()

function incident(n: number): EventBody {
  const at = new Date(now + n * 1_000).toISOString()
  const own = { id: n, iid: n, created_at: at, updated_at: at }
  return payload(
    'issue',
    Object.fromEntries(Object.entries(own).map(([key, value]) => [`object_attributes.${key}`, value])),
  )
}

it.each(['sqlite', 'postgres'] as const)(
  'counts deployments and incidents once, whenever a daemon on %s is killed',
  { timeout: 600_000 },
  async engine => {
    const storeUrl = engine === 'sqlite' ? undefined : await newDatabase()
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const clock = path.join(temporaryFolder(), 'off')
    writeFileSync(clock, '0')
    const killSwitch = engine === 'sqlite' ? 'kill-switch.ts' : 'kill-switch-postgres.ts'
    // The short form kills the daemon either before or after each point, and on one store only, because both stores commit the same transactions.
    const some = engine === 'sqlite' ? [1, 2] : [4]
    const moments = momentsOn(engine, countedPoints).filter((_, at) => isFull || some.includes(at))
    let count = 0
    const daemon = Daemon.launch(
      {
        CLOCK_OFF_BY: clock,
        ...(storeUrl !== undefined && { PIPESPAN_STORE_URL: storeUrl }),
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        SERVICE_OBSERVABILITY_EXPORT: 'metrics',
        PIPESPAN_METRICS_INTERVAL: '200ms',
        PIPESPAN_ENRICH_DEADLINE: '1ms',
        PIPESPAN_EVENTS: 'deployment,issue',
        CRASH_AT: moments[0] && nameOf(moments[0]),
      },
      [killSwitch, '../e2e/set-clock.ts'].flatMap(file => ['--import', fileURLToPath(new URL(file, import.meta.url))]),
    )
    for (const [at, moment] of moments.entries()) {
      if (at > 0) await daemon.startAgain({ CRASH_AT: nameOf(moment) })
      else expect(await daemon.becomesReady()).toBe(true)
      const running = daemon.process
      for (let n = 0; n < reported; n += 1) {
        count += 1
        // The daemon may have been killed before it acknowledged the last delivery, so the delivery is sent again with the same key, possibly to the
        // next process.
        await post(daemon, deployment(count), `d${count}`)
        await post(daemon, incident(count), `i${count}`)
      }
      const [ended] = await Promise.race([running.ended.then(one => [one]), sleep(120_000, [undefined])])
      expect(ended).toMatchObject({ signal: 'SIGKILL' })
      expect(running.stderr).toContain(`killed ${nameOf(moment)}\n`)
      // Sets the clock forward, because the leases of a dead process are released only when they expire.
      if (storeUrl === undefined) writeFileSync(clock, String((at + 1) * leases))
      else await shiftClock(storeUrl, (at + 1) * leases)
    }
    await daemon.restart({ CRASH_AT: undefined })
    for (let n = 1; n <= count; n += 1) {
      await post(daemon, deployment(n), `d${n}`)
      await post(daemon, incident(n), `i${n}`)
    }
    const totals = (): number[] =>
      ['platform.deployment.count', 'platform.incident.count'].map(name => total(receiver, name))
    await receiver.until(() => totals().every(one => one >= count))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(totals()).toEqual([count, count])
  },
)

/** Sends a delivery. Resolves to true if the daemon acknowledged it. */
async function post(daemon: Daemon, { event, body }: EventBody, key: string): Promise<boolean> {
  const headers = {
    'x-service-event': event,
    'x-service-instance': 'https://git.example.com',
    'idempotency-key': key,
  }
  return daemon.post(body, headers).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** Returns the newest value of the counter, which must have one series. */
function total({ metrics }: OtlpReceiver, wanted: string): number {
  let newest = { nanos: 0n, value: 0 }
  for (const { name, points } of metrics) {
    if (name !== wanted) continue
    for (const point of points)
      if ('value' in point && point.nanos >= newest.nanos) newest = { nanos: point.nanos, value: Number(point.value) }
  }
  return newest.value
}
