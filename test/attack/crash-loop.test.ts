// A delivery that ends the process that reads it, again at each start: what is only large is read within the memory there is, and
// what kills nevertheless is set aside at its third death, and the rest goes on. So with a run that kills when it is settled, and with
// an outbox entry that does when it is encoded.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { limitOf, smallHeap, startWithin, type MemoryFigures } from './limited.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { postUntilTaken } from '../bounds/posting.ts'
import { newDatabase } from '../store/new-database.ts'
import { shiftClock } from '../store/postgres-server.ts'

async function receive(options = {}): Promise<OtlpReceiver> {
  return closeAfterTest(await OtlpReceiver.start(options))
}

/** Resolves when so many spans have come. What was sent when the process died may be sent again. */
async function received(receiver: OtlpReceiver, count: number): Promise<void> {
  await receiver.until(spans => new Set(spans.map(({ spanId }) => spanId)).size === count)
}

const deadly = new URL('deadly.ts', import.meta.url).href

/** Revives it until it has logged this; answers how many lives were lost. `storeUrl`: of a database, by whose clock leases run out. */
async function untilItLives(daemon: Daemon, storeUrl: string | undefined, words: string): Promise<number> {
  await daemon.process.ended
  for (let deaths = 1; ; deaths += 1) {
    expect(deaths).toBeLessThan(10)
    if (storeUrl !== undefined) await shiftClock(storeUrl, (hours += 1) * 3_600_000)
    const isUp = await daemon.revive({})
    const logged = daemon.process.logged(words).then(
      () => true,
      () => false,
    )
    if (isUp && (await logged)) return deaths
    await daemon.process.ended
  }
}

/** How far the databases' clocks are ahead. */
let hours = 0

// What is noted about who died is the same to both stores: `test/store/under-way.test.ts`.
const engines = isFull ? ['sqlite', 'postgres'] : ['sqlite']

describe.each(engines)('a delivery that crashes the process that reads it, on %s', engine => {
  it('is quarantined after it crashed three processes that read it alone; nothing else is lost', async () => {
    const receiver = await receive()
    const storeUrl = engine === 'postgres' ? await newDatabase() : undefined
    const daemon = await Daemon.start(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        ...(storeUrl === undefined ? {} : { PIPESPAN_STORE_URL: storeUrl }),
      },
      ['--import', deadly],
    )
    const post = async (body: string): Promise<unknown> =>
      daemon.post(body, { 'x-service-event': 'Pipeline Hook' }).catch(() => undefined)
    await post(pipelineEvent({ id: 1 }))
    await received(receiver, 3)
    await post(pipelineEvent({ id: 2, commitMessage: 'deadly delivery', variables: { SECRET: 'planted' } }))
    const deaths = await untilItLives(daemon, storeUrl, 'a delivery is quarantined')
    // The first one may have been among others.
    expect([3, 4]).toContain(deaths)
    await post(pipelineEvent({ id: 3 }))
    await received(receiver, 6)
    let stdout = ''
    const list = async (): Promise<string> => ({ stdout } = await daemon.command('inbox', 'list')).stdout
    await expect.poll(list).toMatch(/0 waiting to be processed, 1 could not be decoded/)
    expect(stdout).toMatch(/3 times in a row the daemon's process died while it read this delivery/)
    expect(daemon.output).not.toContain('planted')
  })
})

describe.each(engines)('a run or an outbox entry that crashes the process, on %s', engine => {
  it('is set aside after three crashes: the run as it is, the entry as a dead letter; more memory or a retry brings both back', async () => {
    const receiver = await receive()
    const storeUrl = engine === 'postgres' ? await newDatabase() : undefined
    const daemon = await Daemon.start(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        ...(storeUrl === undefined ? {} : { PIPESPAN_STORE_URL: storeUrl }),
      },
      ['--import', deadly],
    )
    const post = async (id: number, commitMessage: string): Promise<unknown> =>
      daemon.post(pipelineEvent({ id, commitMessage }), { 'x-service-event': 'Pipeline Hook' }).catch(() => undefined)
    await post(1, 'harmless')
    await received(receiver, 3)
    await post(2, 'a deadly run')
    const ofTheRun = await untilItLives(daemon, storeUrl, 'a run is skipped until the daemon has changed')
    await post(3, 'harmless')
    await received(receiver, 6)
    await post(4, `deadly entry ${'x'.repeat(400)}`)
    const ofTheEntry = await untilItLives(daemon, storeUrl, 'a dead letter')
    // The first one may have been among others.
    expect([3, 4]).toContain(ofTheRun)
    expect([3, 4]).toContain(ofTheEntry)
    await post(5, 'harmless')
    await received(receiver, 9)
    const letters = async (): Promise<string> => (await daemon.command('dead-letters', 'list')).stdout
    await expect.poll(letters).toContain('3 times in a row')

    // It has more memory: for the run that is reason enough to try again.
    const more = { TEST_DEADLY: 'no', NODE_OPTIONS: '--max-old-space-size=700' }
    await daemon.stop()
    if (storeUrl !== undefined) await shiftClock(storeUrl, (hours += 1) * 3_600_000)
    await daemon.restart(more)
    await received(receiver, 12)
    await daemon.command('dead-letters', 'retry', '--all')
    await received(receiver, 15)
  })
})

const stuffed = (filler: string): string => pipelineEvent({ id: 1 }).replace(/^\{/, `{"odd":${filler},`)
const sixteen = 16 * 1024 * 1024

/** A valid pipeline event with an unknown field of 16 MiB. */
const attacks: Readonly<Record<string, () => string>> = {
  lists: () => stuffed(`[${'[],'.repeat(sixteen / 3)}[]]`),
  objects: () => stuffed(`[${'{},'.repeat(sixteen / 3)}{}]`),
  deep: () => stuffed('['.repeat(sixteen / 2) + ']'.repeat(sixteen / 2)),
  numbers: () => stuffed(`[${'1,'.repeat(sixteen / 2)}1]`),
  keys: () => stuffed(`{${Array.from({ length: 1_000_000 }, (_, at) => `"key ${at}":0`).join(',')}}`),
  text: () => stuffed(JSON.stringify('ü'.repeat(sixteen / 2))),
}

/** The daemon within so much memory takes these; answers what it needed, bytes. */
async function within(
  mebibytes: number,
  bodies: readonly string[],
  spans: number,
  nodeArgs: readonly string[] = [],
): Promise<MemoryFigures> {
  const receiver = await receive({ keep: false })
  const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
  const { daemon, memory } = await startWithin(mebibytes, env, nodeArgs)
  await postUntilTaken(daemon, bodies, 4)
  await Promise.race([
    receiver.until(() => receiver.counts.spans >= spans, 540_000),
    daemon.process.ended.then(({ code, signal }) => {
      throw new Error(`It died within ${mebibytes} MiB: ${code ?? signal}`)
    }),
  ])
  const figures = memory()
  expect(receiver.counts.spans).toBe(spans)
  await daemon.kill()
  return figures
}

describe('a large delivery', () => {
  it('with 16 MiB of unused lists is read within 256 MiB, and its pipeline is exported', async () => {
    await within(256, [attacks.lists?.() ?? ''], 3)
  })

  it.skipIf(!isFull).each([256, 512])('of every kind is read within %i MiB', { timeout: 600_000 }, async limit => {
    for (const [index, [, attack]] of Object.entries(attacks).entries()) {
      report({ limit, attack: index, ...(await within(limit, [attack()], 3)) })
    }
  })

  it.skipIf(!isFull)('of 40,000 jobs, four at once, is exported within 512 MiB', { timeout: 600_000 }, async () => {
    const hooks = [1, 2, 3, 4].map(id => pipelineEvent({ id, jobs: 40_000 }))
    report({ limit: 512, hooks: 4, jobs: 40_000, ...(await within(512, hooks, 4 * 40_001)) })
  })

  it.skipIf(!isFull)(
    'of 40,000 jobs is exported within 256 MiB, after three crashes at most',
    { timeout: 600_000 },
    async () => {
      const jobs = 40_000
      const receiver = await receive({ keep: false })
      const daemon = Daemon.launch({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, smallHeap)
      const limit = limitOf(256)
      limit?.hold(daemon.process.child.pid ?? 0)
      expect(await daemon.lives()).toBe(true)
      const taken = await daemon
        .post(pipelineEvent({ id: 1, jobs }), { 'x-service-event': 'Pipeline Hook' })
        .then(({ status }) => status)
      expect(taken).toBe(202)
      let deaths = 0
      for (; deaths < 4; deaths += 1) {
        const died = daemon.process.ended.then(() => true)
        if (
          !(await Promise.race([died, receiver.until(() => receiver.counts.spans > jobs, 300_000).then(() => false)]))
        )
          break
        const before = daemon.process
        const revived = daemon.revive({})
        while (daemon.process === before) await new Promise(resolve => setImmediate(resolve))
        limit?.hold(daemon.process.child.pid ?? 0)
        await revived
      }
      expect(deaths).toBeLessThan(4)
      report({ limit: 256, hooks: 1, jobs, deaths, spans: receiver.counts.spans })
      await daemon.kill()
    },
  )

  it.skipIf(!isFull)('of 5,000 jobs, four at once, is exported within 256 MiB', { timeout: 600_000 }, async () => {
    const hooks = [1, 2, 3, 4].map(id => pipelineEvent({ id, jobs: 5_000 }))
    const figures = await within(256, hooks, 4 * 5_001, smallHeap)
    report({ limit: 256, hooks: 4, jobs: 5_000, ...figures })
  })
})
