// Reads jobs' test reports from a platform that responds over HTTP into a store on real SQLite, as the daemon does.
import { createCapabilities } from '../../../src/core/complete/capability.ts'
import { createTestReading, maxTestSpans } from '../../../src/features/job-insides/read-tests.ts'
import { createTestReports } from '../../../src/platform/reports/read-tests.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { decodeLogs, type ReceivedLogRecord } from '../../support/otlp-decode.ts'
import { encodeLogs } from '../../../src/core/telemetry/encode.ts'
import { insideCounters, type InsideCounters } from '../../../src/features/job-insides/counts.ts'
import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { job } from '../../flow/world.ts'
import { JobWorld, packed } from './job-world.ts'
import { linearPattern } from '../../support/linear-pattern.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { pytest } from '../../platform/reports/junit-samples.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { testsOf } from './stored-tests.ts'
import type { JobFacts, ObservedJob } from '../../../src/model/observation.ts'
import type { JobReader } from '../../../src/features/job-insides/job-reader.ts'
import type { Section } from '../../../src/model/inside.ts'

export const settings = telemetrySettings({ profiles, insides: insideTelemetry, eventNameAttribute: true })

export class TestReportBench {
  readonly world: JobWorld
  /** The errors with which the platform refused an artifact, so that its own test report is read instead. */
  readonly replaced: string[] = []
  reader!: JobReader
  counters!: InsideCounters
  #readsSections = false

  private constructor(world: JobWorld) {
    this.world = world
    this.begin()
  }

  /** The platform serves the pytest sample as the test report of every job, until `world.platform.reply` is set. */
  static async open(): Promise<TestReportBench> {
    return new TestReportBench(await JobWorld.open(packed(pytest)))
  }

  async close(): Promise<void> {
    await this.world.close()
  }

  /** Starts another reader, which exports these test spans. With `readsSections`, the sections of the jobs' logs are read, too. */
  begin(spans: 'none' | 'suites' | 'cases' = 'none', readsSections = false): void {
    this.#readsSections = readsSections
    const { client, store } = this.world
    const { runs, repositories } = store
    this.counters = insideCounters()
    const tests = createTestReading({
      counters: this.counters,
      ...{ runs, memory: testsOf(store), spans },
      tests: createTestReports(client, {
        ...{ maxText: 4_096, keptCases: spans === 'cases' ? maxTestSpans : 0 },
        redactText: createTextRedaction([linearPattern('ACME-[0-9]+')]),
      }),
      capabilities: createCapabilities(repositories.refusedEndpoints, client.instance),
      sections: ({ key }, { id }) =>
        readsSections
          ? store.views.sections(key, 1, id).then(all => all.flatMap(({ sections = [] }) => sections))
          : undefined,
      onForgotten: async () => undefined,
      onReplaced: error => this.replaced.push(error.message),
    })
    this.reader = this.world.reader(
      {
        tests,
        log: async (_, { id, kind, start, end, status }) => {
          const own = { clock: 'line', kind: 'runner', parent: undefined } as const
          const sections: Section[] = [
            { ...own, ordinal: 1, name: 'get_sources', start, end: start + 9_000 },
            { ...own, ordinal: 2, name: 'step_script', start: start + 9_000, end: end - 1_000 },
          ]
          return { as: 'read', insides: [{ job: { id, kind, start, end, status }, sections }] }
        },
      },
      chunk => measure(chunk, settings),
    )
  }

  /** Exports a pipeline with these jobs, and reads their test reports. */
  async finish(
    jobs: ObservedJob[],
    pipelineId = 7,
    { sha = 'a'.repeat(40), chunkSize }: { sha?: string; chunkSize?: number } = {},
  ): Promise<void> {
    const reads = { tests: true, sections: this.#readsSections ? (['failed'] as const) : [] }
    await this.world.finish(jobs, { reads, pipelineId, facts: { sha }, chunkSize })
    await this.reader.drain()
  }

  /** Returns the log records that were exported since the last call. */
  async records(): Promise<ReceivedLogRecord[]> {
    return decodeLogs(encodeLogs(await this.world.sent('logs'), settings))
  }
}

/** Returns a failed job that has a test report. */
export function tested(id: number, more: Partial<JobFacts> = {}): ObservedJob {
  return job(
    id,
    'unit',
    'failed',
    { started: 1, finished: 50 },
    { failureReason: 'script_failure', artifactSizes: { junit: 900 }, ...more },
  )
}
