// Reads a job's test report from the job's artifact. If the platform does not serve the artifact, it reads the report that the platform has parsed.
import { countIn, type InsideCounters } from './counts.ts'
import { hasFailed } from '../../model/status.ts'
import { splitTests, type FlakyTest } from '../../model/job-tests.ts'
import { groupNameOf } from '../../model/job.ts'
import { newestByName } from '../../model/attempt.ts'
import { insideJobOf } from '../../model/inside-chunks.ts'
import { PlatformError, type CallOptions } from '../../platform/port.ts'
import { testArtifact } from '../../model/observation.ts'
import { testSpans } from '../../model/test-layout.ts'
import type { Asked, Capabilities } from '../../core/complete/capability.ts'
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { PipelineTests, TestReports, TestsRead } from '../../platform/port/inside.ts'
import type { Run } from '../../model/run.ts'
import type { Section } from '../../model/inside.ts'
import type { Runs } from '../../core/store/ports/runs.ts'
import { testedName } from './test-reads.ts'
import type { TestMemory } from './test-memory.ts'

export interface TestReadingOptions {
  readonly counters: Pick<InsideCounters, 'testReports' | 'testCases' | 'testFailures' | 'droppedTimes' | 'flaky'>
  readonly tests: TestReports
  readonly capabilities: Capabilities
  readonly memory: Pick<TestMemory, 'record'>
  readonly runs: Pick<Runs, 'get'>
  /** Called with the number of reports that were deleted to free space. */
  readonly onForgotten: (reports: number) => Promise<void>
  readonly spans: 'none' | 'suites' | 'cases'
  /**
   * Called once, when the platform's own report is first read in place of an artifact. `refusal` is the platform's response to the artifact request.
   */
  readonly onReplaced: (refusal: PlatformError) => void
  /** Returns the sections that were read from the job's log. Undefined if the sections of this job are never read. */
  readonly sections: (chunk: Chunk, job: JobSnapshot) => Promise<readonly Section[]> | undefined
}

/** The maximum number of flaky test records that one job exports. */
const maxFlaky = 100
/** The maximum number of test spans that one job exports. */
export const maxTestSpans = 1_000
/** How long to wait for the sections of the same job's log, which is read concurrently, ms. The sections show when the tests ran. */
const sectionsTimeoutMs = 1_000

export function createTestReading(options: TestReadingOptions): JobReading {
  const { tests, capabilities, memory, runs, spans, counters } = options
  /** The test report of the latest pipeline. It is cached because the jobs of a pipeline are usually read one after the other. */
  let latest: { readonly name: string; readonly known: Promise<KnownTests> } | undefined
  let wasReplaced = false

  const read: JobReading = async ({ chunk, tries }, job, call) => {
    const sections = spans === 'none' ? undefined : await options.sections(chunk, job)
    if (sections?.length === 0 && tries === 0) return { as: 'early', ms: sectionsTimeoutMs, sentNothing: true }
    const found = await reportOf(chunk, job, call)
    if (found === undefined) return { as: 'read', insides: [] }
    const { report } = found
    const flaky = await remembered(chunk, job, found.outcomes)
    count(report, flaky)
    const { totals, dropped, fault, suites, failures } = report
    const placed = spans === 'none' ? [] : testSpans(suites, job, sections?.findLast(tests.isScript), maxTestSpans)
    const suiteSeconds = suites.flatMap(({ seconds }) => seconds ?? [])
    const summary = { totals, dropped, suiteSeconds, ...(fault && { fault }) }
    const parts = splitTests(summary, { failures, spans: placed, flaky: flaky.slice(0, maxFlaky) })
    return { as: 'read', insides: parts.map(tests => ({ job: insideJobOf(job), tests })) }
  }

  async function reportOf(chunk: Chunk, job: JobSnapshot, call: CallOptions): Promise<TestsRead | undefined> {
    const asked: Asked = { what: 'junit', project: chunk.project.id, path: chunk.project.path }
    let refusal: PlatformError | undefined
    if (await capabilities.mayAsk(asked)) {
      try {
        const found = await tests.ofJob(chunk.project.id, job, call)
        await capabilities.answered(asked)
        return found
      } catch (error) {
        if (!(error instanceof PlatformError && isRefusal(error))) throw error
        refusal = error
      }
    }
    const isOfOne = refusal?.kind === 'not-found' && !refusal.affectsAllRequests
    if (refusal !== undefined && !isOfOne) await replaced(asked, refusal, true)
    const found = await fromPlatform(chunk, job, call)
    // The platform's refusal to serve the artifact is recorded only if the platform has parsed a test report itself. Otherwise, this job may simply
    // have no tests.
    if (refusal !== undefined && isOfOne && found !== undefined) await replaced(asked, refusal, false)
    return found
  }

  async function replaced(asked: Asked, refusal: PlatformError, isOfAll: boolean): Promise<void> {
    await capabilities.refused(asked, refusal, isOfAll)
    if (!wasReplaced) options.onReplaced(refusal)
    wasReplaced = true
  }

  /**
   * The platform has one test report for a pipeline, in which parallel jobs (`rspec 1/3`, `rspec 2/3`) are one suite. The suite is exported once,
   * with the first of these jobs that has a report.
   */
  async function fromPlatform(chunk: Chunk, job: JobSnapshot, call: CallOptions): Promise<TestsRead | undefined> {
    if (job.retried) return undefined
    const { project, key, attempt } = chunk
    const name = `${project.id} ${key.pipelineId} ${attempt}`
    if (latest?.name !== name) {
      const asked = Promise.all([tests.ofPipeline(project.id, key.pipelineId, call), runs.get(key)])
      latest = {
        name,
        known: asked.then(([report, known]) => ({ report, first: firstOfGroups(known?.run, attempt) })),
      }
    }
    const { known } = latest
    try {
      const { report, first } = await known
      return (first.get(groupNameOf(job.name ?? '')) ?? job.id) === job.id ? await report.of(job) : undefined
    } catch (error) {
      latest = undefined
      throw error
    }
  }

  async function remembered(
    chunk: Chunk,
    job: JobSnapshot,
    outcomes: TestsRead['outcomes'],
  ): Promise<readonly FlakyTest[]> {
    const { project, key, pipeline } = chunk
    const revision = pipeline.facts.sha
    if (revision === undefined) return []
    const { flaky, forgotten } = await memory.record({
      ...{ instance: key.instance, projectId: project.id, project: project.path ?? String(project.id) },
      ...{ job: testedName(job.name ?? ''), jobId: job.id, pipelineId: key.pipelineId, revision },
      endedAt: job.end,
      lostMs: hasFailed(job.status) ? Math.round(job.end - job.start) : 0,
      ...outcomes,
    })
    if (forgotten > 0) await options.onForgotten(forgotten)
    return flaky
  }

  function count({ totals, dropped, failures, fault }: TestsRead['report'], flaky: readonly FlakyTest[]): void {
    countIn(counters.testReports, fault?.reason ?? 'none')
    counters.testCases.true += totals.total
    counters.testCases.false += dropped.cases
    counters.testFailures.true += failures.length
    counters.testFailures.false += dropped.failures
    counters.droppedTimes += dropped.times ?? 0
    counters.flaky += flaky.length
  }

  return read
}

interface KnownTests {
  readonly report: PipelineTests
  /** Maps the group name of parallel jobs to the id of the first of these jobs that has a report and was not retried. */
  readonly first: ReadonlyMap<string, number>
}

/** Whether the platform refuses to serve this artifact, or any artifact of this type. It may still have parsed the report itself. */
function isRefusal({ status, kind, affectsAllRequests }: PlatformError): boolean {
  return status === 400 || kind === 'not-found' || affectsAllRequests
}

function firstOfGroups(run: Run | undefined, attempt: number): KnownTests['first'] {
  const first = new Map<string, number>()
  if (run === undefined) return first
  const newest = newestByName(run)
  for (const { id, record, snapshot } of run.jobs.values()) {
    const { name = '', artifactSizes = {} } = record.facts
    if (snapshot?.attempt !== attempt || newest.get(name) !== id || !Object.hasOwn(artifactSizes, testArtifact))
      continue
    const group = groupNameOf(name)
    first.set(group, Math.min(id, first.get(group) ?? id))
  }
  return first
}
