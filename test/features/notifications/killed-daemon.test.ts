// Tests notifications by a daemon that is killed before and after each step of a message. Every incident gets its two messages, and repeated messages
// have the same id.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { Daemon } from '../../e2e/daemon.ts'
import { isFull } from '../../full.ts'
import { MessageReceiver } from '../../support/message-receiver.ts'
import { messagePoints, momentsOn, nameOf } from '../../crash/points.ts'
import { newDatabase } from '../../core/store/new-database.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { shiftClock } from '../../core/store/postgres-server.ts'

/** A time that is longer than any lease, ms. */
const leases = 300_000

/** Returns a default branch pipeline that has ended: failed if `id` is odd, successful if it is even. */
function ended(id: number): string {
  const event = JSON.parse(pipelineEvent({ id, status: id % 2 === 1 ? 'failed' : 'success', jobs: 1 })) as {
    object_attributes: object
    project: object
  }
  return JSON.stringify({
    ...event,
    object_attributes: { ...event.object_attributes, finished_at: new Date().toISOString() },
    project: { ...event.project, default_branch: 'main' },
  })
}

it.each(['sqlite', 'postgres'] as const)(
  'announces each incident and its end once, whenever a daemon on %s is killed',
  { timeout: 600_000 },
  async engine => {
    const storeUrl = engine === 'sqlite' ? undefined : await newDatabase()
    const receiver = closeAfterTest(await MessageReceiver.start())
    const file = path.join(temporaryFolder(), 'pipespan.yaml')
    writeFileSync(
      file,
      `observability: { export: none }\nnotifications: [{ name: chat, url: '${receiver.url}/hook' }]\n`,
    )
    const killSwitch = engine === 'sqlite' ? 'kill-switch.ts' : 'kill-switch-postgres.ts'
    const some = engine === 'sqlite' ? [0, 1, 3, 4, 5, 7] : [1, 5]
    const moments = momentsOn(engine, messagePoints).filter((_, at) => isFull || some.includes(at))
    const daemon = Daemon.launch(
      {
        ...(storeUrl !== undefined && { PIPESPAN_STORE_URL: storeUrl }),
        ...{ OTEL_EXPORTER_OTLP_ENDPOINT: undefined, SERVICE_OBSERVABILITY_EXPORT: undefined, PIPESPAN_CONFIG: file },
        CRASH_AT: moments[0] && nameOf(moments[0]),
      },
      ['--import', fileURLToPath(new URL(`../../crash/${killSwitch}`, import.meta.url))],
    )
    const post = async (body: string, id: number): Promise<boolean> =>
      daemon.post(body, { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `p${id}` }).then(
        ({ ok }) => ok,
        () => false,
      )
    const arrived = (): Map<unknown, unknown> => new Map(receiver.accepted.map(({ body: { id, type } }) => [id, type]))
    for (const [at, moment] of moments.entries()) {
      if (at > 0) await daemon.startAgain({ CRASH_AT: nameOf(moment) })
      else expect(await daemon.becomesReady()).toBe(true)
      const running = daemon.process
      // The pipeline ends after the daemon's start, because events that are older than the notification rule are not sent.
      const body = ended(at + 1)
      await post(body, at + 1)
      const [end] = await Promise.race([running.ended.then(one => [one]), sleep(60_000, [undefined])])
      expect(end).toMatchObject({ signal: 'SIGKILL' })
      expect(running.stderr).toContain(`killed ${nameOf(moment)}\n`)
      if (storeUrl !== undefined) await shiftClock(storeUrl, (at + 1) * leases)
      await daemon.restart({ CRASH_AT: undefined })
      // The webhook is sent again, because the kill may have prevented its response.
      await post(body, at + 1)
      await expect.poll(() => arrived().size).toBe(at + 1)
      expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    }
    const types = ['com.pipespan.default_branch.broken', 'com.pipespan.default_branch.fixed']
    expect([...arrived().values()]).toEqual(moments.map((_, at) => types[at % 2]))
  },
)
