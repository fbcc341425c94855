import { wholeInstance } from '../../src/model/territory.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTextRedaction } from '../../src/platform/text-redaction.ts'
import { createErrorThrottle } from '../../src/platform/rest/error-throttle.ts'
import { createJobReader, type JobReader } from '../../src/enrichment/job-reader.ts'
import { createLogReading } from '../../src/enrichment/read-log.ts'
import { createReadLog } from '../../src/platform/job-log/read-log.ts'
import { createInMemoryBudget } from '../../src/platform/rest/kept-budget.ts'
import { createPlatformClient } from '../../src/platform/rest/client.ts'
import { createSnapshotter } from '../../src/processing/take-snapshots.ts'
import { createSettleLoop } from '../../src/processing/settle-loop.ts'
import { encodeLogs, encodeTraces, logsAsJson, tracesAsJson } from '../../src/telemetry/encode.ts'
import { answer, startPlatform, type PlatformServer } from '../platform/rest/platform-server.ts'
import { event, everything, job, minute, rules, t0 } from '../flow/world.ts'
import { jobReadsBy, type JobChoice } from '../../src/processing/job-reads.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { needlessReadings } from './needless.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { profiles } from '../../src/app/profile.ts'
import { silentLog } from '../../src/lib/log.ts'
import { telemetrySettings } from '../../src/telemetry/settings.ts'
import { chunkOfRun } from '../support/of-run.ts'
import type { JobReading } from '../../src/enrichment/job-reading.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { ObservedJob } from '../../src/model/observation.ts'
import type { Signal } from '../../src/store/ports/runs.ts'
import type { Store } from '../../src/store/ports/store.ts'

const erase = '\r\u001b[0K'
const settings = telemetrySettings({ profiles })
const day = 24 * 60 * minute

/** The log of a job that began a second after its pipeline and failed after 50. */
const log = [
  `section_start:${t0 / 1000 + 5}:get_sources${erase}Getting source from Git repository`,
  `section_end:${t0 / 1000 + 8}:get_sources${erase}section_start:${t0 / 1000 + 8}:step_script${erase}Executing "step_script" stage`,
  '$ deploy --token=Tr0ub4dor&3-correct-horse',
  `section_start:${t0 / 1000 + 9}:mine${erase}My section`,
  'it did not work',
  `section_end:${t0 / 1000 + 40}:step_script${erase}`,
  '\u001b[31;1mERROR: Job failed: exit code 1\u001b[0;m',
  '',
].join('\n')

describe('the inside of jobs', () => {
  let now = t0
  let platform: PlatformServer
  let store: Store
  let reader: JobReader
  let client: ReturnType<typeof createPlatformClient>
  /** In the place of the real one. */
  let reading: JobReading | undefined
  let readLog: JobReading
  const clock = { now: () => now, sleep: async () => undefined }

  beforeEach(async () => {
    now = t0
    reading = undefined
    platform = await startPlatform(answer(200, log))
    store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  })
  afterEach(async () => {
    await reader.stop()
    await client.close()
    await store.close()
    await platform[Symbol.asyncDispose]()
  })

  const to = (['traces', 'logs'] as const).map(signal => ({ destination: 'default', signal }))

  /** Exports a pipeline with these jobs, and reads what is to be read of them. */
  async function begin(jobs: ObservedJob[], sections: JobChoice, lines: JobChoice = [], pipelineId = 7): Promise<void> {
    client = createPlatformClient({
      ...{ url: platform.url, token: () => 'secret-of-the-platform', tokenType: 'private' },
      ...{
        budget: createInMemoryBudget({ perMinute: 1_000 }, clock),
        concurrency: 2,
        userAgent: 'test',
        clock,
        log: silentLog(),
      },
    })
    const readings = createLogReading({
      readLog: createReadLog({ client, redactText: createTextRedaction([]), readMax: 2 ** 20, linesMax: 2 ** 20 }),
      ...{ sections, lines, isSlow: async () => false },
    })
    readLog = readings.read
    const { jobReads: queue, runs } = store
    const { refusedEndpoints } = store.repositories
    reader = createJobReader({
      ...{ queue, runs, refusedEndpoints, to, measure: undefined, clock, log: silentLog() },
      tokens: [
        {
          ...{ territory: wholeInstance(client.instance), scope: client.instance },
          readings: { ...needlessReadings, log: async (...given) => (reading ?? readings.read)(...given) },
          errors: createErrorThrottle(silentLog()),
        },
      ],
      onRead: () => undefined,
    })
    await finish(jobs, sections, lines, pipelineId)
    await reader.drain()
  }
  async function finish(jobs: ObservedJob[], sections: JobChoice, lines: JobChoice, pipelineId: number): Promise<void> {
    const observed = event('failed', { finishedAt: t0 + minute }, jobs, {}, pipelineId)
    const here = { ...observed, key: { instance: client.instance, pipelineId } }
    await store.runs.transact(mergeObservations([here], 'webhook', rules))
    now += minute
    await createSettleLoop({
      ...{ runs: store.runs, perTransaction: 10, clock, log: silentLog() },
      snapshotter: createSnapshotter({
        ...{ rules, selection: everything, to, onSnapshot: () => undefined },
        reads: jobReadsBy({ sections, lines, tests: false, reports: [], spans: false, project: () => true }),
        family: { scheme: 'instance', profile: 'generic', bridgesWillCome: false },
      }),
    }).drain()
  }
  async function sent(signal: Signal): Promise<Chunk[]> {
    const { items } = await store.outbox.lease({ destination: 'default', signal }, 100, 0)
    return items.map(chunkOfRun)
  }
  const failed = (id: number): ObservedJob =>
    job(id, `test ${id}`, 'failed', { started: 1, finished: 50 }, { failureReason: 'script_failure' })

  it('costs one request for each selected job; its sections become spans below its span', async () => {
    await begin([failed(1), job(2, 'build', 'success', { started: 1, finished: 50 })], ['failed'])
    expect(platform.asked.map(({ path }) => path)).toEqual(['/api/v4/projects/3/jobs/1/trace'])
    const inside = (await sent('traces')).filter(({ kind }) => kind === 'job')
    expect(inside).toHaveLength(1)
    expect((await sent('logs')).filter(({ kind }) => kind === 'job')).toEqual([])
    const { resourceSpans } = JSON.parse(tracesAsJson(inside, settings)) as { resourceSpans: Spans[] }
    const [{ scope, spans } = { scope: undefined, spans: [] }] = resourceSpans[0]?.scopeSpans ?? []
    expect(scope?.name).toBe('pipespan.job')
    expect(spans.map(({ name, status }) => [name, status.code ?? 0])).toEqual([
      ['get_sources', 0],
      ['step_script', 2],
      ['section: My section', 2],
    ])
    expect(spans[2]?.parentSpanId).toBe(spans[1]?.spanId)
    expect(encodeTraces(inside, settings).length).toBeGreaterThan(0)
    expect(reader.counters).toMatchObject({ read: 1, failed: 0 })
  })

  it('has log lines as records of their sections, without anything that looks like a secret', async () => {
    await begin([failed(1)], ['failed'], ['failed'])
    expect(platform.asked).toHaveLength(1)
    const inside = (await sent('logs')).filter(({ kind }) => kind === 'job')
    const text = logsAsJson(inside, settings)
    expect(text).not.toContain('Tr0ub4dor')
    const { resourceLogs } = JSON.parse(text) as { resourceLogs: { scopeLogs: { logRecords: Line[] }[] }[] }
    const lines = resourceLogs[0]?.scopeLogs[0]?.logRecords ?? []
    expect(lines.map(({ body }) => body.stringValue)).toEqual([
      'Getting source from Git repository',
      'Executing "step_script" stage',
      '$ deploy --token=[REDACTED]',
      'My section',
      'it did not work',
      'ERROR: Job failed: exit code 1',
    ])
    expect(lines.at(-1)?.severityText).toBe('ERROR')
    expect(new Set(lines.map(({ spanId }) => spanId)).size).toBe(4)
    expect(encodeLogs(inside, settings).length).toBeGreaterThan(0)
  })

  it('is read once more if the log looks unfinished, and then accepted as it is', async () => {
    platform.reply = answer(200, log.slice(0, 300))
    await begin([failed(1)], ['failed'])
    expect(reader.counters).toMatchObject({ early: 1, read: 0 })
    now += 2 * minute
    await reader.drain()
    expect(reader.counters).toMatchObject({ early: 1, read: 1 })
    now += day
    await reader.drain()
    expect(platform.asked).toHaveLength(2)
  })

  it('is missing for one job if its log is gone; a project that refuses is asked once a day', async () => {
    platform.reply = answer(404, '{"message":"404 Not Found"}')
    await begin([failed(1), failed(2), failed(3), failed(4)], ['failed'])
    expect(platform.asked).toHaveLength(4)
    platform.reply = answer(403, '{"message":"403 Forbidden"}')
    const later = Array.from({ length: 8 }, (_, n) => failed(10 + n))
    await finish(later, ['failed'], [], 8)
    await reader.drain()
    const refused = platform.asked.length - 4
    // Those that were under way together, and not all of them.
    expect(refused).toBeGreaterThanOrEqual(3)
    expect(refused).toBeLessThan(8)
    expect(reader.counters.withheld).toBe(8 - refused)
    const [note] = await store.repositories.refusedEndpoints.all()
    expect(note).toMatchObject({ what: 'log', project: 3, path: 'acme/shop', status: 403 })
    now += day
    platform.reply = answer(200, log)
    await finish([failed(30)], ['failed'], [], 9)
    await reader.drain()
    expect(reader.counters.read).toBe(1)
    expect(await store.repositories.refusedEndpoints.all()).toEqual([])
  })

  it('is given up after some tries if our own code fails, without affecting other jobs', async () => {
    reading = async (...given) => {
      if (given[1].id === 1) throw new RangeError('Maximum call stack size exceeded')
      return readLog(...given)
    }
    await begin([failed(1), failed(2)], ['failed'])
    expect(reader.counters).toMatchObject({ failed: 1, read: 1, expired: 0 })
    for (let hours = 0; hours < 12; hours += 1) {
      now += 60 * minute
      await reader.drain()
    }
    expect(reader.counters).toMatchObject({ failed: 8, read: 1, expired: 1 })
    expect(await store.jobReads.count()).toMatchObject({ due: 0, later: 0 })
  })

  it('follows a redirect to a storage without sending the token, and retries if the storage refuses', async () => {
    await using storage = await startPlatform(answer(403, 'Request has expired'))
    platform.reply = (_, response) => response.writeHead(302, { location: `${storage.url}/log?signature=1` }).end()
    await begin([failed(1)], ['failed'])
    expect(reader.counters).toMatchObject({ failed: 1, refused: 0 })
    storage.reply = answer(200, log)
    now += 10 * minute
    await reader.drain()
    expect(reader.counters.read).toBe(1)
    for (const { headers } of storage.asked) {
      expect(JSON.stringify(headers)).not.toContain('secret-of-the-platform')
      expect(headers['private-token']).toBeUndefined()
    }
  })

  it('continues after a broken connection, by a range request or by skipping what was read', async () => {
    const bytes = Buffer.from(log)
    let turn = 0
    platform.reply = ({ headers }, response) => {
      turn += 1
      const from = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0)
      if (turn === 1 || turn === 3) {
        response.writeHead(200, { 'content-length': String(bytes.length) })
        response.write(bytes.subarray(0, turn * 100), () => response.destroy())
      } else if (turn === 2) {
        response.writeHead(206, { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` })
        response.end(bytes.subarray(from))
      } else response.writeHead(200).end(bytes)
    }
    await begin([failed(1), failed(2)], ['failed'])
    const inside = (await sent('traces')).flatMap(({ inside: one }) => one ?? [])
    expect(inside.map(({ sections }) => sections?.map(({ name }) => name))).toEqual([
      ['get_sources', 'step_script', 'mine'],
      ['get_sources', 'step_script', 'mine'],
    ])
  })
})

interface Spans {
  readonly scopeSpans: {
    readonly scope: { readonly name: string }
    readonly spans: { name: string; spanId: string; parentSpanId: string; status: { code?: number } }[]
  }[]
}

interface Line {
  readonly body: { readonly stringValue: string }
  readonly severityText: string
  readonly spanId: string
}
