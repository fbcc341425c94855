import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { answer, startPlatform } from '../../platform/rest/platform-server.ts'
import { createLogReading } from '../../../src/features/job-insides/read-log.ts'
import { insideCounters } from '../../../src/features/job-insides/counts.ts'
import { createReadLog } from '../../../src/platform/job-log/read-log.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { decodeLogs, decodeTraces } from '../../support/otlp-decode.ts'
import { encodeLogs, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { job, minute, t0 } from '../../flow/world.ts'
import { JobWorld } from './job-world.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { JobChoice } from '../../../src/features/job-insides/job-reads.ts'
import type { JobReader } from '../../../src/features/job-insides/job-reader.ts'
import type { JobReading } from '../../../src/features/job-insides/job-reading.ts'
import type { ObservedJob } from '../../../src/model/observation.ts'

const erase = '\r\u001b[0K'
const settings = telemetrySettings({ profiles, insides: insideTelemetry })
const day = 24 * 60 * minute

/** The log of a job that started one second after its pipeline and failed after 50 seconds. */
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

describe('reading job logs', () => {
  let world: JobWorld
  let reader: JobReader
  /** If set, replaces the real function that reads a log. */
  let reading: JobReading | undefined
  let readLog: JobReading

  beforeEach(async () => {
    reading = undefined
    world = await JobWorld.open(answer(200, log))
    return async () => world.close()
  })

  /** Exports a pipeline with these jobs, and reads their logs. */
  async function begin(jobs: ObservedJob[], sections: JobChoice, lines: JobChoice = []): Promise<void> {
    const { client } = world
    readLog = createLogReading({
      counters: insideCounters(),
      readLog: createReadLog(client, { redactText: createTextRedaction([]), readMax: 2 ** 20, linesMax: 2 ** 20 }),
      ...{ sections, lines, isSlow: async () => false },
    })
    reader = world.reader({ log: async (...given) => (reading ?? readLog)(...given) })
    await world.finish(jobs, { reads: { sections, lines } })
    await reader.drain()
  }
  const failed = (id: number): ObservedJob =>
    job(id, `test ${id}`, 'failed', { started: 1, finished: 50 }, { failureReason: 'script_failure' })

  it("sends one log request per selected job, and exports the sections as spans below the job's span", async () => {
    await begin([failed(1), job(2, 'build', 'success', { started: 1, finished: 50 })], ['failed'])
    expect(world.platform.asked.map(({ path }) => path)).toEqual(['/api/v4/projects/3/jobs/1/trace'])
    const inside = await world.sent('traces')
    expect(inside).toHaveLength(1)
    expect(await world.sent('logs')).toEqual([])
    const spans = decodeTraces(encodeTraces(inside, settings))
    expect(spans[0]?.scope.name).toBe('pipespan.job')
    expect(spans.map(({ name, status }) => [name, status])).toEqual([
      ['get_sources', 'unset'],
      ['step_script', 'error'],
      ['section: My section', 'error'],
    ])
    expect(spans[2]?.parentSpanId).toBe(spans[1]?.spanId)
    expect(reader.counters).toMatchObject({ read: 1, failed: 0 })
  })

  it('exports log lines as records linked to their sections, without anything that looks like a secret', async () => {
    await begin([failed(1)], ['failed'], ['failed'])
    expect(world.platform.asked).toHaveLength(1)
    const bytes = encodeLogs(await world.sent('logs'), settings)
    expect(Buffer.from(bytes).toString()).not.toContain('Tr0ub4dor')
    const lines = decodeLogs(bytes)
    expect(lines.map(({ body }) => body)).toEqual([
      'Getting source from Git repository',
      'Executing "step_script" stage',
      '$ deploy --token=[REDACTED]',
      'My section',
      'it did not work',
      'ERROR: Job failed: exit code 1',
    ])
    expect(lines.at(-1)?.severityText).toBe('ERROR')
    expect(new Set(lines.map(({ spanId }) => spanId)).size).toBe(4)
  })

  it('reads a log a second time if it looks unfinished, then accepts it as it is', async () => {
    world.platform.reply = answer(200, log.slice(0, 300))
    await begin([failed(1)], ['failed'])
    expect(reader.counters).toMatchObject({ early: 1, read: 0 })
    world.now += 2 * minute
    await reader.drain()
    expect(reader.counters).toMatchObject({ early: 1, read: 1 })
    world.now += day
    await reader.drain()
    expect(world.platform.asked).toHaveLength(2)
  })

  it("skips a single job's log if it is gone, and retries a project that refuses logs once a day", async () => {
    world.platform.reply = answer(404, '{"message":"404 Not Found"}')
    await begin([failed(1), failed(2), failed(3), failed(4)], ['failed'])
    expect(world.platform.asked).toHaveLength(4)
    world.platform.reply = answer(403, '{"message":"403 Forbidden"}')
    const later = Array.from({ length: 8 }, (_, n) => failed(10 + n))
    await world.finish(later, { reads: { sections: ['failed'] }, pipelineId: 8 })
    await reader.drain()
    const refused = world.platform.asked.length - 4
    // Only the requests that were in flight at the first refusal are refused, not all requests.
    expect(refused).toBeGreaterThanOrEqual(3)
    expect(refused).toBeLessThan(8)
    expect(reader.counters.withheld).toBe(8 - refused)
    const [note] = await world.store.repositories.refusedEndpoints.all()
    expect(note).toMatchObject({ what: 'log', project: 3, path: 'acme/shop', status: 403 })
    world.now += day
    world.platform.reply = answer(200, log)
    await world.finish([failed(30)], { reads: { sections: ['failed'] }, pipelineId: 9 })
    await reader.drain()
    expect(reader.counters.read).toBe(1)
    expect(await world.store.repositories.refusedEndpoints.all()).toEqual([])
  })

  it("gives up on a log after some attempts if Pipespan's own code fails, without affecting other jobs", async () => {
    reading = async (...given) => {
      if (given[1].id === 1) throw new RangeError('Maximum call stack size exceeded')
      return readLog(...given)
    }
    await begin([failed(1), failed(2)], ['failed'])
    expect(reader.counters).toMatchObject({ failed: 1, read: 1, expired: 0 })
    for (let hours = 0; hours < 12; hours += 1) {
      world.now += 60 * minute
      await reader.drain()
    }
    expect(reader.counters).toMatchObject({ failed: 8, read: 1, expired: 1 })
    expect(await world.queue.count()).toMatchObject({ due: 0, later: 0 })
  })

  it("follows a log's redirect to object storage without sending the token, and retries if the storage refuses the request", async () => {
    await using storage = await startPlatform(answer(403, 'Request has expired'))
    world.platform.reply = (_, response) =>
      response.writeHead(302, { location: `${storage.url}/log?signature=1` }).end()
    await begin([failed(1)], ['failed'])
    expect(reader.counters).toMatchObject({ failed: 1, refused: 0 })
    storage.reply = answer(200, log)
    world.now += 10 * minute
    await reader.drain()
    expect(reader.counters.read).toBe(1)
    for (const { headers } of storage.asked) {
      expect(JSON.stringify(headers)).not.toContain('secret-of-the-platform')
      expect(headers['private-token']).toBeUndefined()
    }
  })
})
