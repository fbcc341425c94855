// Tests what happens to pending data when a destination gets another endpoint but keeps its name. The data is held for the old endpoint until the
// operator confirms or drops it.
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Daemon } from './daemon.ts'
import { type OtlpReceiver, patient, pipelinesAt, startReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { startPostgres } from '../core/store/postgres-server.ts'

const unset = { OTEL_EXPORTER_OTLP_ENDPOINT: undefined, SERVICE_OBSERVABILITY_EXPORT: undefined, ...patient }
const outage = { fault: { kind: 'status', status: 503, message: 'backend is down' } } as const

const wasRefused = (one: OtlpReceiver) => (): boolean => one.requests.some(({ status }) => status === 503)

/** Returns a finished pipeline of the project with the path `group/app`. */
function of(group: string, id: number): string {
  const event = JSON.parse(pipelineEvent({ id })) as { project: object }
  const project = { ...event.project, id: group.charCodeAt(0), path_with_namespace: `${group}/app` }
  return JSON.stringify({ ...event, project })
}

const postgres = await startPostgres()
afterAll(async () => postgres.dispose())

describe.each(['sqlite', 'postgres'] as const)('held data in %s', engine => {
  it.each(['SIGHUP', 'a restart'])(
    "holds pending data when %s swaps the endpoints of two destinations, and sends no tenant another tenant's data",
    async how => {
      const [a, b] = [await startReceiver(), await startReceiver()]
      const file = path.join(temporaryFolder(), 'pipespan.yaml')
      const entry = (name: string, { url }: OtlpReceiver, group: string): string =>
        `  - { name: ${name}, endpoint: '${url}', projects: { include: ['${group}/**'] } }\n`
      const write = (...entries: string[]): void =>
        writeFileSync(file, `observability: { export: [traces] }\nsettle: 0s\ndestinations:\n${entries.join('')}`)
      write(entry('one', a, 'alpha'), entry('two', b, 'beta'))
      const store = engine === 'sqlite' ? {} : { PIPESPAN_STORE_URL: await postgres.newDatabase() }
      const daemon = await Daemon.start({ ...unset, ...store, PIPESPAN_CONFIG: file, PIPESPAN_SETTLE: undefined })
      const post = async (group: string, id: number): Promise<void> =>
        expect((await daemon.post(of(group, id))).status).toBe(202)
      const apply = async (): Promise<void> => {
        if (how !== 'SIGHUP') {
          await daemon.stop()
          await daemon.restart()
          return
        }
        const before = daemon.process.log.filter(({ msg }) => msg === 'configuration reloaded').length
        daemon.signal('SIGHUP')
        await expect
          .poll(() => daemon.process.log.filter(({ msg }) => msg === 'configuration reloaded').length)
          .toBe(before + 1)
      }
      b.misbehave(outage)
      await post('beta', 1)
      await b.until(wasRefused(b))
      write(entry('one', b, 'beta'), entry('two', a, 'alpha'))
      await apply()
      await daemon.process.logged(({ msg, destination }) => msg.includes('are held') && destination === 'two')
      expect(await (await fetch(daemon.adminUrl)).text()).toContain('pipespan held confirm two')
      expect(await (await fetch(`${daemon.adminUrl}/metrics`)).text()).toMatch(
        /^pipespan_export_circuit_breaker_state{destination="two@[0-9a-f]{8}",signal="traces",state="held"} 1$/m,
      )
      expect((await daemon.command('held', 'list')).stdout).toContain(`${b.url}/v1/traces`)
      b.behave()
      await post('alpha', 2)
      await post('beta', 3)
      await a.until(() => pipelinesAt(a).includes(2))
      await b.until(() => pipelinesAt(b).includes(3))
      // The operator confirms the data by mistake. It is still not sent, because the destination does not take the project that the data belongs to.
      expect((await daemon.command('held', 'confirm', 'two')).stdout).toMatch(/^1 pending again/)
      await daemon.process.logged(({ reason }) => String(reason).includes('no longer configured for this project'))
      expect([pipelinesAt(a), pipelinesAt(b)]).toEqual([[2], [3]])
      // The dead letter is sent to the right tenant once the tenant's destination takes the project again.
      write(entry('one', a, 'alpha'), entry('two', b, 'beta'))
      await apply()
      expect((await daemon.command('dead-letters', 'retry', '--all')).stdout).toMatch(/^1 pending again/)
      await b.until(() => pipelinesAt(b).includes(1))
      expect([pipelinesAt(a), pipelinesAt(b)]).toEqual([[2], [1, 3]])
    },
  )

  it("sends held data when the old endpoint is configured again, and drops it on the operator's command", async () => {
    const [before, after] = [await startReceiver(), await startReceiver()]
    const file = path.join(temporaryFolder(), 'pipespan.yaml')
    const write = ({ url }: OtlpReceiver): void =>
      writeFileSync(file, `observability: { export: [traces] }\nsettle: 0s\notlp: { endpoint: '${url}' }`)
    write(before)
    const store = engine === 'sqlite' ? {} : { PIPESPAN_STORE_URL: await postgres.newDatabase() }
    const daemon = await Daemon.start({ ...unset, ...store, PIPESPAN_CONFIG: file, PIPESPAN_SETTLE: undefined })
    const post = async (id: number): Promise<void> => expect((await daemon.post(of('alpha', id))).status).toBe(202)
    before.misbehave(outage)
    await post(1)
    await before.until(wasRefused(before))
    const become = async (one: OtlpReceiver): Promise<void> => {
      await daemon.stop()
      write(one)
      await daemon.restart()
    }
    await become(after)
    before.behave()
    await post(2)
    await after.until(() => pipelinesAt(after).includes(2))
    await become(before)
    await before.until(() => pipelinesAt(before).includes(1))
    expect([pipelinesAt(before), pipelinesAt(after)]).toEqual([[1], [2]])
    before.misbehave(outage)
    const refusals = before.requests.length
    await post(3)
    await before.until(() => before.requests.length > refusals)
    await become(after)
    expect((await daemon.command('held', 'drop', 'default')).stdout).toBe('1 dropped.\n')
    expect((await daemon.command('held', 'list')).stdout).toMatch(/^Nothing is held/)
    expect(await daemon.command('held', 'confirm', 'default')).toMatchObject({ code: 1 })
    before.behave()
    await become(before)
    await post(4)
    await before.until(() => pipelinesAt(before).includes(4))
    expect([pipelinesAt(before), pipelinesAt(after)]).toEqual([[1, 4], [2]])
  })
})
