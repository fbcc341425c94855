// Reads the job logs and reports that are due in the queue, each as a separate entry. Pipelines are exported earlier, so none waits for this reader,
// and unreadable logs affect no pipeline. Its API requests have the lowest priority.
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

/** A platform token with its job readers, and the runs for which it is used. */
export interface JobReadingToken {
  readonly territory: Territory
  /** The key under which facts about this token are stored. */
  readonly scope: string
  readonly readings: Readonly<Record<JobReadable, JobReading>>
  readonly errors: ErrorThrottle
}

export interface JobReaderOptions extends InsideOutlets {
  readonly queue: JobReads
  readonly runs: Runs
  readonly refusedEndpoints: Repositories['refusedEndpoints']
  readonly tokens: readonly JobReadingToken[]
  /** Called after a chunk was put into the outbox. */
  readonly onRead: () => void
  readonly clock: Clock
  readonly log: Log
}

/** The outcomes of job reads since the daemon started. Each log and each report of a job counts separately. */
export interface JobReaderCounters {
  /** How many logs and reports were read and stored for export. */
  read: number
  /** How many logs and reports were read but had nothing to export. */
  empty: number
  /** How many logs were not requested because only logs of slow jobs are read and the job was not slow. */
  needless: number
  /** The number of times a log or report was postponed because it was not complete yet. */
  early: number
  /** How many logs and reports the platform refused or does not have. */
  refused: number
  /** How many logs and reports were not requested because the platform is known to reject such requests. */
  withheld: number
  /** How many requests failed. Most of them are retried later. */
  failed: number
  /** How many reads were given up after too many attempts or too long a wait. */
  expired: number
}

export interface JobReader extends LeasedWork {
  readonly counters: Readonly<JobReaderCounters>
}

type Lane = TokenLane<JobReadingToken & { readonly capabilities: Capabilities }>

/** How many logs and reports are read concurrently. */
const concurrency = 4
/**
 * A read that takes longer than `afterMs` gives up its slot, so that slow logs do not delay others. Up to `extra` such reads may run in addition. All
 * of these reads together are fewer than the requests that one priority may have in flight, so that other requests of that priority are still sent.
 */
const slow = { afterMs: 5_000, extra: 3 }
/** The maximum number of failed attempts to read a log or report. With exponential backoff, they take one to two hours. */
const maxTries = 8
const backoffMs = { first: 60_000, max: 3_600_000 }
/** The maximum age of an entry, ms. An older entry is dropped, because the API budget is too small for the configuration. */
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
    const { token, pause } = lanes.of(read)
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
      pause.answered()
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof PlatformError) await fail(error, subject, read, asked, { token, pause })
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
        return reading.sentNothing === true ? undefined : capabilities.answered(asked)
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

  /** An unexpected error in our code or in the store counts as an attempt. Otherwise one bad report would be retried forever. */
  async function stumble(error: unknown, read: JobRead): Promise<void> {
    const { jobId: job, what } = read
    log.error({ err: error, job, what }, 'a job log or report could not be read')
    counters.failed += 1
    return again(read)
  }

  async function again(read: JobRead): Promise<void> {
    if (read.tries + 1 < maxTries) return queue.defer(read, backoff(read.tries + 1, backoffMs), true)
    counters.expired += 1
    return queue.drop(read)
  }

  async function fail(
    error: PlatformError,
    subject: string,
    read: JobRead,
    asked: Asked,
    { token, pause }: Lane & { readonly token: NonNullable<Lane['token']> },
  ): Promise<void> {
    // A status of 400 means that the platform does not know this artifact type for any project.
    const isUnknownType = error.status === 400 && isReportType(read.what)
    if (error.kind === 'forbidden' || error.kind === 'not-found' || isUnknownType) {
      counters.refused += 1
      await token.capabilities.refused(asked, error, isUnknownType || error.affectsAllRequests)
      return queue.drop(read)
    }
    counters.failed += 1
    // A rejected token is not caused by the job, so it does not count as a failed attempt. The entry waits for a new token.
    const isOfToken = error.kind === 'unauthorized'
    if (token.errors.failed(subject, error) === 'stop' || isOfToken) pause.begin()
    if (isOfToken) return queue.defer(read, backoff(read.tries + 1, backoffMs), false)
    if (error.passing) return again(read)
    counters.expired += 1
    return queue.drop(read)
  }

  const work = createLeasedWork<JobRead, Lane>({
    name: 'job reader',
    lanes,
    queues: [
      {
        concurrency,
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
