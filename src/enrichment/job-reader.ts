// Reads about the inside of jobs what is due in its queue: of each job by itself, after its pipeline was exported, so nothing waits for it,
// and what cannot be read harms nothing else. It spends the shared API budget below everything else: under pressure it waits.
import { applyReading, type InsideOutlets, type JobReading } from './job-reading.ts'
import { backoff } from '../lib/backoff.ts'
import { createCapabilities, type Asked } from './capability.ts'
import { createLoop, type Loop } from '../lib/loop.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import { PlatformError } from '../platform/rest/platform-error.ts'
import { sparseWarnings } from '../lib/sparse-warnings.ts'
import type { ErrorThrottle } from '../platform/rest/error-throttle.ts'
import type { JobRead, JobReadable, JobReads } from '../store/ports/job-reads.ts'
import type { JobSnapshot } from '../model/chunk.ts'
import type { Log } from '../lib/log.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Runs } from '../store/ports/runs.ts'

export interface JobReaderOptions extends InsideOutlets {
  readonly queue: JobReads
  readonly runs: Runs
  readonly refusedEndpoints: Repositories['refusedEndpoints']
  /** The platform's normalised base URL: jobs of another one cannot be asked about. */
  readonly instance: string
  readonly readings: Readonly<Record<JobReadable, JobReading>>
  readonly errors: ErrorThrottle
  /** Called after something was put into the outbox. */
  readonly onRead: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start; each by job and by what was read. */
export interface JobReaderCounters {
  /** Read and stored for sending. */
  read: number
  /** Read, and there was nothing to send. */
  empty: number
  /** Not asked for: the job did not take unusually long after all. */
  needless: number
  /** Not complete yet: read once more later. */
  early: number
  /** The platform refused, or has nothing of it. */
  refused: number
  /** Not asked for, because the platform refuses such requests. */
  withheld: number
  /** Requests that failed; most are tried again later. */
  failed: number
  /** Given up: tried too often, or waited for too long. */
  expired: number
}

export interface JobReader extends Loop {
  readonly counters: Readonly<JobReaderCounters>
  /** Reads all that is due now. */
  drain(): Promise<void>
}

/** Read at the same time. */
const places = 4
/** Longer than a silence of the platform; renewed while a log is read. */
const leaseMs = 90_000
const renewMs = 30_000
const turnMs = 1_000
/** Tries of one thing that fail; with growing pauses some five hours. */
const mostTries = 8
const pauses = { first: 60_000, max: 3_600_000 }
/** What waits longer is given up: the platform's budget does not suffice for what was asked for. */
const longestWait = 24 * 3_600_000

export function createJobReader(options: JobReaderOptions): JobReader {
  const { queue, runs, readings, errors, clock, log } = options
  const counters: JobReaderCounters = {
    ...{ read: 0, empty: 0, needless: 0, early: 0 },
    ...{ refused: 0, withheld: 0, failed: 0, expired: 0 },
  }
  const capabilities = createCapabilities(options.refusedEndpoints, options.instance)
  const warn = sparseWarnings(log, () => elapsed(clock))
  const inFlight = new Map<string, { readonly read: JobRead; readonly done: Promise<void> }>()
  const closing = new AbortController()
  let failures = 0
  let restUntil = 0
  let renewedAt = elapsed(clock)

  async function readOne(read: JobRead): Promise<void> {
    const { chunk, jobId, what } = read
    const job = chunk.jobs.find(({ id }) => id === jobId)
    if (job === undefined || chunk.key.instance !== options.instance) return queue.drop(read)
    if (read.takenAt - read.pendingSince > longestWait) {
      counters.expired += 1
      warn('expired', 'what is inside of jobs waits too long for the API budget and is given up', { what })
      return queue.drop(read)
    }
    const { id, path } = chunk.project
    const asked: Asked = { what, project: id, path }
    const subject = `project ${path ?? id}`
    try {
      if (!(await capabilities.mayAsk(asked))) {
        counters.withheld += 1
        await queue.drop(read)
        return
      }
      await keep(read, job, asked)
      failures = 0
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      await fail(error, subject, read, asked)
    }
  }

  async function keep(read: JobRead, job: JobSnapshot, asked: Asked): Promise<void> {
    const reading = await readings[read.what](read, job, { priority: 'inside', signal: closing.signal })
    switch (reading.as) {
      case 'needless':
        counters.needless += 1
        return queue.drop(read)
      case 'early':
        counters.early += 1
        await queue.defer(read, reading.ms, true)
        return capabilities.answered(asked)
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

  async function fail(error: PlatformError, subject: string, read: JobRead, asked: Asked): Promise<void> {
    if (error.kind === 'forbidden' || error.kind === 'not-found') {
      counters.refused += 1
      await capabilities.refused(asked, error)
      return queue.drop(read)
    }
    counters.failed += 1
    // An unknown token is not the job's fault: it waits for a better one.
    const isOfToken = error.kind === 'unauthorized'
    if (errors.failed(subject, error) === 'stop' || isOfToken) {
      failures += 1
      restUntil = elapsed(clock) + backoff(failures, { first: 1_000, max: 60_000 })
    }
    if (!isOfToken && (read.tries + 1 >= mostTries || !error.passing)) {
      counters.expired += 1
      return queue.drop(read)
    }
    return queue.defer(read, backoff(read.tries + 1, pauses), !isOfToken)
  }

  async function begin(): Promise<number> {
    const free = places - inFlight.size
    if (free <= 0) return 0
    const taken = await queue.take(free, leaseMs)
    for (const read of taken) {
      const name = `${read.chunkId} ${read.jobId} ${read.what}`
      if (inFlight.has(name)) continue
      const done = readOne(read)
        .catch((error: unknown) => {
          // Whatever it was, the job is leased again once this lease has run out.
          if (!closing.signal.aborted)
            log.error({ err: error, job: read.jobId }, 'the inside of a job could not be read')
        })
        .then(() => {
          inFlight.delete(name)
          loop.wake()
        })
      inFlight.set(name, { read, done })
    }
    return taken.length
  }

  async function renew(now: number): Promise<void> {
    if (now - renewedAt < renewMs) return
    renewedAt = now
    await queue.extend(
      [...inFlight.values()].map(({ read }) => read),
      leaseMs,
    )
  }

  const loop = createLoop({
    name: 'job reader',
    clock,
    log,
    turn: async () => {
      const now = elapsed(clock)
      await renew(now)
      if (restUntil > now) return Math.min(turnMs, restUntil - now)
      return (await begin()) > 0 ? 0 : turnMs
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while ((await begin()) > 0 || inFlight.size > 0) {
        // All may be done by now, and a race of no promises never ends.
        if (inFlight.size > 0) await Promise.race([...inFlight.values()].map(({ done }) => done))
      }
    },
    stop: async () => {
      await loop.stop()
      closing.abort(new Error('the daemon stops'))
      const left = [...inFlight.values()]
      await Promise.all(left.map(({ done }) => done))
      await queue.extend(
        left.map(({ read }) => read),
        0,
      )
    },
  }
}
