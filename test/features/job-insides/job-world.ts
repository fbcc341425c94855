// Provides a platform that responds over HTTP and a store on real SQLite. Job logs and reports are read from the platform into the store under a
// clock that the test moves.
import { gzipSync } from 'node:zlib'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createJobReader, type JobReader, type JobReaderOptions } from '../../../src/features/job-insides/job-reader.ts'
import { createPlatformClient, type RestClient } from '../../../src/platform/rest/client.ts'
import { event, minute, rules, t0, snapshotterWith, settlerOf } from '../../flow/world.ts'
import { jobReadables, jobReads, type JobReadable, type JobReads } from '../../../src/features/job-insides/queue.ts'
import { jobReadStep, type JobReadRules } from '../../../src/features/job-insides/job-reads.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { openSqlite } from '../../support/stores.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { startPlatform, type PlatformServer, type Reply } from '../../platform/rest/platform-server.ts'
import { wholeInstance } from '../../../src/model/territory.ts'
import { chunkOf, deliver } from '../../support/of-run.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { JobReading } from '../../../src/features/job-insides/job-reading.ts'
import type { ObservedJob, PipelineFacts } from '../../../src/model/observation.ts'
import type { Signal } from '../../../src/core/store/ports/outbox.ts'

/** The default readers for every kind of log and report: they find nothing to read. */
const needlessReadings = Object.fromEntries(
  jobReadables.map(what => [what, async () => ({ as: 'needless' as const })]),
) as unknown as Record<JobReadable, JobReading>

/** Responds with this file, compressed as the platform stores it. */
export const packed =
  (text: string): Reply =>
  (_, response) =>
    response.writeHead(200).end(gzipSync(text))

const nothing: JobReadRules = { sections: [], lines: [], tests: false, reports: [], spans: false, project: () => true }

interface FinishOptions {
  /** The rules for which logs and reports are read. By default, none are. */
  readonly reads: Partial<JobReadRules>
  readonly pipelineId?: number | undefined
  readonly facts?: Partial<PipelineFacts> | undefined
  readonly chunkSize?: number | undefined
}

export class JobWorld {
  now = t0
  readonly clock = { now: () => this.now, sleep: async () => undefined }
  readonly store = openSqlite(':memory:', { now: () => this.now, maxSize: 2 ** 30 })
  readonly platform: PlatformServer
  readonly client: RestClient
  readonly #to: JobReaderOptions['to']
  readonly queue: JobReads = this.store.on(jobReads)
  readonly #readers: JobReader[] = []

  private constructor(platform: PlatformServer, signals: readonly Signal[]) {
    this.platform = platform
    this.#to = signals.map(signal => ({ destination: 'default', signal }))
    this.client = createPlatformClient({
      ...{ url: platform.url, token: () => 'secret-of-the-platform', tokenType: 'private' },
      budget: createInMemoryBudget({ perMinute: 1_000 }, this.clock),
      ...{ concurrency: 2, userAgent: 'test', clock: this.clock, log: silentLog() },
    })
  }

  static async open(reply: Reply, signals: readonly Signal[] = ['traces', 'logs']): Promise<JobWorld> {
    return new JobWorld(await startPlatform(reply), signals)
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) await reader.stop()
    await this.client.close()
    await this.store.close()
    await this.platform[Symbol.asyncDispose]()
  }

  reader(readings: Partial<Record<JobReadable, JobReading>>, measure?: JobReaderOptions['measure']): JobReader {
    const { runs, repositories } = this.store
    const { queue } = this
    const { client, clock } = this
    const reader = createJobReader({
      ...{ queue, runs, refusedEndpoints: repositories.refusedEndpoints, to: this.#to, measure, clock },
      ...{ log: silentLog(), onRead: () => undefined },
      tokens: [
        {
          ...{ territory: wholeInstance(client.instance), scope: client.instance },
          ...{ errors: createErrorThrottle(silentLog()), readings: { ...needlessReadings, ...readings } },
        },
      ],
    })
    this.#readers.push(reader)
    return reader
  }

  /** Exports a pipeline with these jobs. */
  async finish(
    jobs: ObservedJob[],
    { reads, pipelineId = 7, facts, chunkSize = rules.chunkSize }: FinishOptions,
  ): Promise<void> {
    const observed = event('failed', { finishedAt: this.now + minute }, jobs, facts, pipelineId)
    const here = { ...observed, key: { instance: this.client.instance, pipelineId } }
    await this.store.runs.transact(mergeObservations([here], 'webhook', rules))
    this.now += 2 * minute
    await settlerOf(this.store, {
      perTransaction: 10,
      clock: this.clock,
      snapshotter: snapshotterWith({
        rules: { ...rules, chunkSize },
        to: this.#to,
        steps: [jobReadStep({ ...nothing, ...reads })],
      }),
    }).drain()
  }

  /** Returns the job chunks that were exported since the last call. */
  async sent(signal: Signal): Promise<Chunk[]> {
    const items = await deliver(this.store, { destination: 'default', signal })
    return items.map(chunkOf).flatMap(chunk => (chunk.kind === 'job' ? [chunk] : []))
  }
}
