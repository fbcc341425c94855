// Reads job logs and reports that are due in its queue, one at a time for each job. Pipelines are exported before that, so no pipeline
// waits for it or is affected by what cannot be read. Its API requests have a lower priority than all others.
import { applyReading, type InsideOutlets, type JobReading } from './job-reading.ts'
import { backoff } from '../../lib/backoff.ts'
import { createCapabilities, type Asked, type Capabilities } from '../../core/complete/capability.ts'
import { createLeasedWork, type LeasedWork } from '../../core/complete/leased-work.ts'
import { tokenLanes, type TokenLane } from '../../core/complete/leased-work.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { isReportType } from '../../model/job-reports.ts'
import { PlatformError, type ErrorThrottle } from '../../platform/port.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import type { JobRead, JobReadable, JobReads } from './queue.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { Log } from '../../lib/log.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'
import type { Runs } from '../../core/store/ports/runs.ts'
import type { Territory } from '../../model/territory.ts'

/** One token of a platform: what it can read about jobs, how, and for which runs. */
export interface JobReadingToken {
  readonly territory: Territory
  /** The key under which facts about this token are remembered. */
  readonly scope: string
  readonly readings: Readonly<Record<JobReadable, JobReading>>
  readonly errors: ErrorThrottle
}

export interface JobReaderOptions extends InsideOutlets {
  readonly queue: JobReads
  readonly runs: Runs
  readonly refusedEndpoints: Repositories['refusedEndpoints']
  readonly tokens: readonly JobReadingToken[]
  /** Called after something was put into the outbox. */
  readonly onRead: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start, separately for each job and each log or report. */
export interface JobReaderCounters {
  /** Read and stored for sending. */
  read: number
  /** Read, with nothing to send. */
  empty: number
  /** Not requested: only logs of slow jobs are read, and this job was not slow. */
  needless: number
  /** Not complete yet: read again later. */
  early: number
  /** The platform refused it, or does not have it. */
  refused: number
  /** Not requested, because the platform refuses such requests. */
  withheld: number
  /** Requests that failed; most are tried again later. */
  failed: number
  /** Given up: tried too often, or waited for too long. */
  expired: number
}

export interface JobReader extends LeasedWork {
  readonly counters: Readonly<JobReaderCounters>
}

type Lane = TokenLane<JobReadingToken & { readonly capabilities: Capabilities }>

/** How many are read at the same time. */
const places = 4
/**
 * A read that takes longer than `afterMs` gives its place to another one, so that slow logs do not delay others; at most `extra` do so. Together the places
 * are fewer than the requests of one priority, so that others get through.
 */
const slow = { afterMs: 5_000, extra: 3 }
/** The maximum of failed tries of one log or report; with growing pauses they take about five hours. */
const maxTries = 8
const pauses = { first: 60_000, max: 3_600_000 }
/** An entry that has waited longer than this, ms, is dropped: the API budget is too small for the configuration. */
const maxWait = 24 * 3_600_000

export function createJobReader(options: JobReaderOptions): JobReader {
  const { queue, runs, clock, log } = options
  const counters: JobReaderCounters = {
    ...{ read: 0, empty: 0, needless: 0, early: 0 },
    ...{ refused: 0, withheld: 0, failed: 0, expired: 0 },
  }
  const tokens = options.tokens.map(token => ({
    ...token,
    capabilities: createCapabilities(options.refusedEndpoints, token.scope),
  }))
  const lanes = tokenLanes(
    tokens,
    ({ chunk: { key, project } }: JobRead) => ({ instance: key.instance, path: project.path }),
    clock,
  )
  const warn = sparseWarnings(log, () => elapsed(clock))

  async function readOne(read: JobRead, signal: AbortSignal): Promise<void> {
    const { chunk, jobId, what } = read
    const job = chunk.jobs.find(({ id }) => id === jobId)
    const { token, rests } = lanes.of(read)
    if (job === undefined || token === undefined) return queue.drop(read)
    if (read.takenAt - read.pendingSince > maxWait) {
      counters.expired += 1
      warn('expired', 'job logs and reports waited too long for the API budget and were dropped', { what })
      return queue.drop(read)
    }
    const { id, path } = chunk.project
    const asked: Asked = { what, project: id, path }
    const subject = `project ${path ?? id}`
    try {
      if (!(await token.capabilities.mayAsk(asked))) {
        counters.withheld += 1
        await queue.drop(read)
        return
      }
      await readInside(read, job, asked, token, signal)
      rests.answered()
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof PlatformError) await fail(error, subject, read, asked, { token, rests })
      else await stumble(error, read)
    }
  }

  async function readInside(
    read: JobRead,
    job: JobSnapshot,
    asked: Asked,
    { readings, capabilities, errors }: NonNullable<Lane['token']>,
    signal: AbortSignal,
  ): Promise<void> {
    const reading = await readings[read.what](read, job, { priority: 'inside', signal })
    switch (reading.as) {
      case 'needless':
        counters.needless += 1
        return queue.drop(read)
      case 'early':
        counters.early += 1
        await queue.defer(read, reading.ms, true)
        return reading.isUnasked === true ? undefined : capabilities.answered(asked)
      case 'read': {
        await runs.transact([applyReading(read, reading.insides, options)])
        const isEmpty = reading.insides.length === 0
        counters[isEmpty ? 'empty' : 'read'] += 1
        if (!isEmpty) options.onRead()
        errors.answered(`project ${asked.path ?? asked.project}`)
        await capabilities.answered(asked)
      }
    }
  }

  /** An unexpected error, from our code or the store, counts as a try: otherwise one bad report would be read forever. */
  async function stumble(error: unknown, read: JobRead): Promise<void> {
    const { jobId: job, what } = read
    log.error({ err: error, job, what }, 'a job log or report could not be read')
    counters.failed += 1
    return again(read)
  }

  async function again(read: JobRead): Promise<void> {
    if (read.tries + 1 < maxTries) return queue.defer(read, backoff(read.tries + 1, pauses), true)
    counters.expired += 1
    return queue.drop(read)
  }

  async function fail(
    error: PlatformError,
    subject: string,
    read: JobRead,
    asked: Asked,
    { token, rests }: Lane & { readonly token: NonNullable<Lane['token']> },
  ): Promise<void> {
    // The platform does not know this type of artifact in any project.
    const isUnknownType = error.status === 400 && isReportType(read.what)
    if (error.kind === 'forbidden' || error.kind === 'not-found' || isUnknownType) {
      counters.refused += 1
      await token.capabilities.refused(asked, error, isUnknownType || error.affectsAllRequests)
      return queue.drop(read)
    }
    counters.failed += 1
    // A refused token is not the job's fault, so it does not count as a try: the entry waits for a new token.
    const isOfToken = error.kind === 'unauthorized'
    if (token.errors.failed(subject, error) === 'stop' || isOfToken) rests.begin()
    if (isOfToken) return queue.defer(read, backoff(read.tries + 1, pauses), false)
    if (error.passing) return again(read)
    counters.expired += 1
    return queue.drop(read)
  }

  const work = createLeasedWork<JobRead, Lane>({
    name: 'job reader',
    lanes,
    queues: [
      {
        places,
        slow,
        take: async (limit, leaseMs, closed) => lanes.take(closed, async which => queue.take(limit, leaseMs, which)),
      },
    ],
    nameOf: ({ run, attempt, number, jobId, what }) => `${run} ${attempt} ${number} ${jobId} ${what}`,
    work: readOne,
    onError: ({ jobId }, error) => log.error({ err: error, job: jobId }, 'a job log or report could not be read'),
    extend: async (reads, leaseMs) => queue.extend(reads, leaseMs),
    clock,
    log,
  })
  return { ...work, counters }
}
