// Compares two runs of a pipeline. It joins their jobs by stage and name, and explains the difference in duration by their critical paths. The
// functions in this file are pure.
import { hasFailed, hasSucceeded } from '../../model/status.ts'
import { z } from 'zod'
import { ms, type Shaped } from '../layout/shape.ts'
import { criticalPath } from '../../model/critical-path.ts'
import { startOf, type RunCard } from './run-card.ts'
import type { JobCard } from './job-card.ts'
import { ranOf } from '../waterfall/waterfall-rows.ts'
import type { Usual } from './usual.ts'

/** A job in one of the two compared runs: the newest job with its name. In a usual run it has no ID and no status. */
const sideShape = z.object({
  id: z.number().optional(),
  status: z.string().optional(),
  tries: z.number().describe('How often the job ran; more than 1 if it was retried.'),
  runs: z.number().optional().describe('For a usual run: the number of runs from which the median was computed.'),
  ranMs: ms.optional(),
  queuedMs: ms.optional(),
  critical: z.boolean(),
})
export type ComparedSide = Shaped<typeof sideShape>

/** How a job's outcome changed between two runs. `none`: the outcome is the same, or there is no run to compare with. */
const outcomeChanges = ['new', 'gone', 'failed', 'passed', 'other', 'none'] as const

const jobShape = z.object({
  name: z.string(),
  stage: z.string(),
  here: sideShape.optional(),
  there: sideShape.optional(),
  change: z.enum(outcomeChanges),
  ranDeltaMs: ms.optional(),
  queuedDeltaMs: ms.optional(),
})
/** A job in both compared runs. Each delta is the value in this run minus the value in the other run. */
export type ComparedJob = Shaped<typeof jobShape>

const partShape = z.object({
  part: z.enum(['ran', 'waited', 'attempts', 'retry', 'end', 'rest']),
  name: z.string().optional(),
  stage: z.string().optional(),
  hereMs: ms.optional(),
  thereMs: ms.optional(),
  deltaMs: ms,
})
/**
 * A part of the critical path: the job running (`ran`), the wait for the job to start (`waited`), the job's earlier attempts (`attempts`), the wait
 * for a retry of the job (`retry`), or the wait for the end of the pipeline (`end`). `rest` is the remainder of the usual duration, because the
 * medians of the jobs do not add up to it.
 */
export type TimePart = Shaped<typeof partShape>

export const comparisonShape = z.object({
  hereMs: ms.optional(),
  thereMs: ms.optional(),
  deltaMs: ms.optional(),
  jobs: z.array(jobShape),
  parts: z
    .array(partShape)
    .describe('How the parts of the two critical paths differ. The differences add up to `deltaMs`.'),
})
/** The comparison of two runs. Its parts are sorted by difference, largest first. There are no parts if either run has no critical path. */
export type Comparison = Shaped<typeof comparisonShape>

export function compareRuns(here: RunCard, there: RunCard): Comparison {
  const [own, other] = [timelineOf(here), timelineOf(there)]
  return {
    ...{ hereMs: own.spent, thereMs: other.spent, deltaMs: less(own.spent, other.spent) },
    jobs: joined(sidesOf(here, own), sidesOf(there, other)),
    parts: partsOf(own, other),
  }
}

/** Compares a run with the usual durations of the pipeline and of each of its jobs by name. */
export function compareUsual(here: RunCard, usual: Usual | undefined, jobs: ReadonlyMap<string, Usual>): Comparison {
  const own = timelineOf(here)
  const compared = [...sidesOf(here, own).values()].map(({ job, side }): ComparedJob => {
    const known = jobs.get(job.name)
    const there = known && { tries: 1, runs: known.runs, ranMs: known.p50, queuedMs: known.queueP50, critical: false }
    return { ...ofJob(job), here: side, there, change: 'none', ...deltas(side, there) }
  })
  const thereMs = usual?.p50
  const parts = partsFromUsual(own, thereMs, jobs)
  return { hereMs: own.spent, thereMs, deltaMs: less(own.spent, thereMs), jobs: compared, parts }
}

const ofStep = ['ran', 'waited', 'attempts', 'retry'] as const

/**
 * Returns the differences from a usual run. A usual run has no failed attempts and no critical path, so each job counts with its usual run time and
 * wait time.
 */
function partsFromUsual(own: Timeline, usualMs: number | undefined, jobs: ReadonlyMap<string, Usual>): TimePart[] {
  if (own.steps.size === 0 || usualMs === undefined) return []
  const parts = [...own.steps.values()].flatMap((step): TimePart[] => {
    const known = jobs.get(step.job.name)
    const there = { ran: known?.p50, waited: known && (known.queueP50 ?? 0), attempts: known && 0, retry: known && 0 }
    return ofStep.map(part => partOf({ part, ...ofJob(step.job) }, step[part], there[part]))
  })
  const rest = usualMs - parts.reduce((sum, { thereMs = 0 }) => sum + thereMs, 0)
  return byDifference([
    ...parts,
    partOf({ part: 'end' }, own.end, undefined),
    partOf({ part: 'rest' }, undefined, rest),
  ])
}

interface Timeline {
  /** The run's duration; undefined if unknown. */
  readonly spent?: number | undefined
  /** The jobs on the critical path, by key (`keyOf`). */
  readonly steps: ReadonlyMap<string, Step>
  /** The time from the end of the critical path to the end of the pipeline, ms. */
  readonly end: number
}

interface Step {
  readonly job: JobCard
  /** The run time of the job, ms. */
  readonly ran: number
  readonly waited: number
  /** The total run time of the job's attempts before the last one, ms. */
  readonly attempts: number
  /** The time in ms that the critical path waited for retries of the job. */
  readonly retry: number
}

/** Returns the critical path as consecutive steps that add up to the run's duration. */
function timelineOf(card: RunCard): Timeline {
  const spent = card.spentMs
  const start = startOf(card)
  const steps = new Map<string, Step>()
  if (spent === undefined || start === undefined) return { spent, steps, end: 0 }
  const ran = new Map(ranOf(card.jobs).map(one => [one.id, one]))
  const byId = new Map(card.jobs.map(job => [job.id, job]))
  let at = start
  for (const id of criticalPath([...ran.values()]).ids) {
    const [job, one] = [byId.get(id), ran.get(id)]
    if (job === undefined || one === undefined) continue
    const known = steps.get(keyOf(job))
    const before = known ?? { ran: 0, waited: 0, attempts: 0, retry: 0 }
    const [waiting, running] = [known === undefined ? 'waited' : 'retry', job.retried ? 'attempts' : 'ran'] as const
    steps.set(keyOf(job), {
      ...before,
      job,
      [waiting]: before[waiting] + Math.max(0, one.start - at),
      [running]: before[running] + Math.max(0, one.end - Math.max(at, one.start)),
    })
    at = Math.max(at, one.end)
  }
  return { spent, steps, end: start + spent - at }
}

function partsOf(here: Timeline, there: Timeline): TimePart[] {
  if (here.steps.size === 0 || there.steps.size === 0) return []
  const parts = [...new Set([...here.steps.keys(), ...there.steps.keys()])].flatMap((key): TimePart[] => {
    const [own, other] = [here.steps.get(key), there.steps.get(key)]
    const job = (own ?? other)?.job
    if (job === undefined) return []
    return ofStep.map(part => partOf({ part, ...ofJob(job) }, own?.[part], other?.[part]))
  })
  return byDifference([...parts, partOf({ part: 'end' }, here.end, there.end)])
}

function partOf(
  of: Pick<TimePart, 'part' | 'name' | 'stage'>,
  hereMs: number | undefined,
  thereMs: number | undefined,
): TimePart {
  return { ...of, hereMs, thereMs, deltaMs: (hereMs ?? 0) - (thereMs ?? 0) }
}

/** Returns the parts of the critical path that differ between the two runs, largest difference first. */
function byDifference(parts: readonly TimePart[]): TimePart[] {
  return parts.filter(({ deltaMs }) => deltaMs !== 0).sort((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs))
}

interface Sided {
  readonly job: JobCard
  readonly side: ComparedSide
}

/** Returns the newest job for each stage and name. */
function sidesOf(card: RunCard, { steps }: Timeline): Map<string, Sided> {
  const sides = new Map<string, Sided>()
  for (const job of card.jobs) {
    const { id, status, ranMs, queuedMs } = job
    const tries = (sides.get(keyOf(job))?.side.tries ?? 0) + 1
    sides.set(keyOf(job), { job, side: { id, status, tries, ranMs, queuedMs, critical: steps.has(keyOf(job)) } })
  }
  return sides
}

/** Joins the jobs of two runs by stage and name. It joins the remaining jobs by name alone, because a job may have moved to another stage. */
function joined(here: ReadonlyMap<string, Sided>, there: ReadonlyMap<string, Sided>): ComparedJob[] {
  const left = new Map([...there].filter(([key]) => !here.has(key)))
  const moved = new Map([...left].map(([key, { job }]) => [job.name, key]))
  const own = [...here].map(([key, { job, side }]): ComparedJob => {
    const from = there.has(key) ? key : moved.get(job.name)
    const other = from === undefined ? undefined : there.get(from)?.side
    if (from !== undefined) {
      left.delete(from)
      moved.delete(job.name)
    }
    return { ...ofJob(job), here: side, there: other, change: changeOf(side, other), ...deltas(side, other) }
  })
  return [
    ...own,
    ...[...left.values()].map(({ job, side }) => ({ ...ofJob(job), there: side, change: 'gone' as const })),
  ]
}

function changeOf(here: ComparedSide, there: ComparedSide | undefined): ComparedJob['change'] {
  if (there === undefined) return 'new'
  if (here.status === there.status) return 'none'
  if (hasFailed(here.status)) return 'failed'
  return hasSucceeded(here.status) && hasFailed(there.status) ? 'passed' : 'other'
}

function deltas(
  here: ComparedSide,
  there: ComparedSide | undefined,
): Pick<ComparedJob, 'ranDeltaMs' | 'queuedDeltaMs'> {
  return { ranDeltaMs: less(here.ranMs, there?.ranMs), queuedDeltaMs: less(here.queuedMs, there?.queuedMs) }
}

function less(here: number | undefined, there: number | undefined): number | undefined {
  return here === undefined || there === undefined ? undefined : here - there
}

function ofJob({ name, stage }: JobCard): Pick<ComparedJob, 'name' | 'stage'> {
  return { name, stage }
}

function keyOf({ name, stage }: JobCard): string {
  return JSON.stringify([stage, name])
}
