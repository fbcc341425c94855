// Figures about runners, for the page and the JSON API: how many jobs ran concurrently over the last day, how long jobs waited for a runner, and
// which jobs are waiting now. Runners are grouped by their tag set, because the tags decide which jobs a runner takes. Pure.
import { z } from 'zod'
import { quantile } from '../../lib/quantile.ts'
import { millis, ms, place, type Shaped } from '../../console/layout/shape.ts'
import { tagSetOf } from '../../model/totals.ts'
import type { Millis } from '../../model/instant.ts'

const placeShape = {
  ...place,
  pipelineId: z.number(),
  jobId: z.number(),
  name: z.string(),
}
type JobPlace = Shaped<z.ZodObject<typeof placeShape>>

const runnersShape = z.object({ available: z.number(), busy: z.number(), offline: z.number() })
export type RunnerCounts = Shaped<typeof runnersShape>

const tagSetShape = z.object({
  tagSet: z.string().optional().describe('Sorted, joined tags; absent if they are unknown.'),
  jobs: z.number().describe('Jobs that started in the period.'),
  busy: z.array(z.number()).describe('Average number of running jobs in each step of the period.'),
  maxBusy: z.number().describe('Maximum number of jobs that ran at the same time.'),
  totalMs: ms.describe('The time that jobs ran in the period.'),
  waitP50Ms: ms.optional(),
  waitP95Ms: ms.optional(),
  longWaits: z
    .object({ jobs: z.number(), ms })
    .describe(
      'Number of jobs that waited longer than a minute, and the total time that they waited beyond that minute.',
    ),
  longest: z
    .object({ ...placeShape, waitMs: ms })
    .optional()
    .describe('The job that waited longest.'),
  running: z.number(),
  pending: z.number(),
  runners: runnersShape.optional().describe('Runners with these tags, from `inventory.runners`.'),
})
export type TagSetFigures = Shaped<typeof tagSetShape>

const waitingShape = z.object({
  ...placeShape,
  tagSet: z.string().optional(),
  waitMs: ms.describe('Minimum time that the job has waited.'),
  runner: z
    .enum(['known', 'none', 'unknown'])
    .describe(
      '`none`: no known runner of the platform has the tags of the job. `unknown`: the tags of the job are unknown.',
    ),
})
export type WaitingJob = Shaped<typeof waitingShape>

export const runnersViewShape = z.object({
  since: millis,
  until: millis,
  stepMs: ms,
  isWhole: z.boolean().describe('False if the period has more pipelines than are read; `since` is then later.'),
  pipelines: z.number().describe('Number of pipelines that were read.'),
  hasInventory: z.boolean().describe('Whether runners are known from `inventory.runners`.'),
  tagSets: z.array(tagSetShape),
  waiting: z.array(waitingShape).describe('Jobs that are waiting for a runner, longest wait first; at most 100.'),
  waitingCount: z.number().describe('Number of all jobs that are waiting for a runner.'),
  untakeable: z.number().describe('Number of waiting jobs whose `runner` is `none`.'),
})
export type RunnersView = Shaped<typeof runnersViewShape>

/** A job that is running on a runner, has run on one, or is waiting for one. */
export interface RunnerJob extends JobPlace {
  /** The tags that the job requires. */
  readonly tags?: readonly string[] | undefined
  readonly runnerTags?: readonly string[] | undefined
  readonly startedAt?: Millis | undefined
  /** Undefined while the job is running. */
  readonly finishedAt?: Millis | undefined
  /** The time that the job waited before it started, or has waited until now, ms. */
  readonly waitMs?: number | undefined
  readonly isPending: boolean
}

/** A runner that the inventory lists. */
export interface KnownRunner {
  readonly instance: string
  readonly tags: readonly string[]
  readonly state: 'available' | 'busy' | 'offline'
}

export interface Period {
  readonly since: Millis
  readonly until: Millis
  readonly step: Millis
  /** The time until which running jobs are counted. The last step of the period may end later. */
  readonly now: Millis
}

/** The duration above which a wait counts as long, ms. */
export const longWait = 60_000
/** The maximum number of waiting jobs that are listed. */
const maxWaiting = 100

/** Returns the figures of each tag set. The set with the most running time is first. */
export function tagSetFigures(
  jobs: readonly RunnerJob[],
  known: readonly KnownRunner[],
  period: Period,
): TagSetFigures[] {
  const bySet = Map.groupBy(jobs, setOf)
  const runnersBySet = Map.groupBy(known, ({ tags }) => tagSetOf(tags))
  for (const set of runnersBySet.keys()) if (!bySet.has(set)) bySet.set(set, [])
  return [...bySet]
    .map(([tagSet, own]): TagSetFigures => {
      const started = own.filter(({ startedAt }) => startedAt !== undefined && startedAt >= period.since)
      const waits = started.flatMap(({ waitMs }) => waitMs ?? [])
      const runners = runnersBySet.get(tagSet)
      return {
        tagSet,
        jobs: started.length,
        ...busyOf(own, period),
        waitP50Ms: quantile(waits, 0.5),
        waitP95Ms: quantile(waits, 0.95),
        longWaits: longWaitsOf(waits),
        longest: longestOf(started),
        running: own.filter(job => !job.isPending && job.startedAt !== undefined && job.finishedAt === undefined)
          .length,
        pending: own.filter(({ isPending }) => isPending).length,
        runners: runners && countsOf(runners),
      }
    })
    .sort((a, b) => b.totalMs - a.totalMs || b.pending - a.pending)
}

/** Returns the waiting jobs, longest wait first, and for each whether a known runner could take it. A runner takes only jobs of its platform. */
export function waitingJobs(
  jobs: readonly RunnerJob[],
  known: readonly KnownRunner[],
): Pick<RunnersView, 'waiting' | 'waitingCount' | 'untakeable'> {
  const ran = jobs.flatMap(({ instance, runnerTags: tags }) => (tags === undefined ? [] : [{ instance, tags }]))
  const seen = new Map(
    [...known, ...ran].map(({ instance, tags }) => [
      `${tagSetOf(tags)} ${instance}`,
      { instance, tags: new Set(tags) },
    ]),
  )
  const runnerFor = ({ instance, tags }: RunnerJob): WaitingJob['runner'] => {
    if (tags === undefined) return 'unknown'
    const takes = (one: { readonly instance: string; readonly tags: ReadonlySet<string> }): boolean =>
      one.instance === instance && tags.every(tag => one.tags.has(tag))
    return [...seen.values()].some(takes) ? 'known' : 'none'
  }
  const all = jobs
    .filter(({ isPending }) => isPending)
    .map(job => ({ ...placeOf(job), tagSet: tagSetOf(job.tags), waitMs: job.waitMs ?? 0, runner: runnerFor(job) }))
    .sort((a, b) => b.waitMs - a.waitMs)
  const untakeable = all.filter(({ runner }) => runner === 'none').length
  return { waiting: all.slice(0, maxWaiting), waitingCount: all.length, untakeable }
}

function setOf({ runnerTags, tags }: RunnerJob): string | undefined {
  return tagSetOf(runnerTags ?? tags)
}

function placeOf({ instance, projectId, project, pipelineId, jobId, name }: RunnerJob): JobPlace {
  return { instance, projectId, project, pipelineId, jobId, name }
}

/** Returns how many jobs ran concurrently: the average in each step, and the maximum. */
function busyOf(
  jobs: readonly RunnerJob[],
  { since, until, step, now }: Period,
): Pick<TagSetFigures, 'busy' | 'maxBusy' | 'totalMs'> {
  const total = new Array<number>(Math.ceil((until - since) / step)).fill(0)
  const changes: [at: Millis, by: number][] = []
  for (const { startedAt, finishedAt = now } of jobs) {
    if (startedAt === undefined) continue
    const [from, to] = [Math.max(since, startedAt), Math.min(now, finishedAt)]
    if (to <= from) continue
    changes.push([from, 1], [to, -1])
    for (let at = Math.floor((from - since) / step); at < total.length && since + at * step < to; at += 1) {
      const begin = since + at * step
      total[at] = (total[at] ?? 0) + (Math.min(to, begin + step) - Math.max(from, begin))
    }
  }
  let running = 0
  let maxBusy = 0
  // Ends are sorted before starts: if one job ends at the moment when another starts, the two do not overlap.
  for (const [, by] of changes.sort((a, b) => a[0] - b[0] || a[1] - b[1])) maxBusy = Math.max(maxBusy, (running += by))
  // The last step is not over yet, so its average is that of the time until now.
  const passed = (at: number): Millis => Math.max(1, Math.min(step, now - since - at * step))
  return { busy: total.map((time, at) => time / passed(at)), maxBusy, totalMs: sum(total) }
}

function longWaitsOf(waits: readonly number[]): TagSetFigures['longWaits'] {
  const long = waits.filter(wait => wait > longWait)
  return { jobs: long.length, ms: sum(long) - long.length * longWait }
}

function longestOf(jobs: readonly RunnerJob[]): TagSetFigures['longest'] {
  let longest: RunnerJob | undefined
  for (const job of jobs) if ((job.waitMs ?? -1) > (longest?.waitMs ?? -1)) longest = job
  return longest?.waitMs === undefined ? undefined : { ...placeOf(longest), waitMs: longest.waitMs }
}

function countsOf(runners: readonly KnownRunner[]): RunnerCounts {
  const count = (state: KnownRunner['state']): number => runners.filter(one => one.state === state).length
  return { available: count('available'), busy: count('busy'), offline: count('offline') }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
