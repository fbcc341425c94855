// Figures over time of parts that were read and are not yet written: added up in memory, so that each is written once for many
// parts. Pure.
import { additionsOf, day, hour, type TrendFigures, type TrendRow, type TrendStep } from './trends.ts'
import type { Bins } from '../lib/log-bins.ts'
import type { FrozenPart } from '../model/frozen.ts'

/** A figure to be added to what is stored of it. */
export interface Addition {
  readonly step: TrendStep
  readonly row: TrendRow
}

type Sum = { -readonly [Name in keyof TrendRow]: TrendRow[Name] }

export class TrendSums {
  /** By the hour; days are added up of hours. */
  readonly #hours = new Map<string, Sum>()

  /** How many rows of hours there are to write. */
  get size(): number {
    return this.#hours.size
  }

  /** `earlier`: parts of the same run that were frozen before it. */
  add(part: FrozenPart, earlier: readonly FrozenPart[]): void {
    for (const row of additionsOf(part, earlier)) sumUp(this.#hours, row, hour)
  }

  additions(): Addition[] {
    const days = new Map<string, Sum>()
    for (const row of this.#hours.values()) sumUp(days, row, day)
    const of = (step: TrendStep, sums: Map<string, Sum>): Addition[] => [...sums.values()].map(row => ({ step, row }))
    return [...of(hour, this.#hours), ...of(day, days)]
  }
}

function sumUp(sums: Map<string, Sum>, row: TrendRow, step: TrendStep): void {
  const bucket = row.bucket - (row.bucket % step)
  const name = `${row.projectId} ${bucket} ${row.instance} ${row.job}`
  const sum = sums.get(name)
  if (sum === undefined) {
    sums.set(name, { ...row, bucket, durations: { ...row.durations }, queues: { ...row.queues } })
    return
  }
  sum.project = row.project
  addFigures(sum, row)
}

/** What is stored of a figure and what is to be added to it. */
export function plus(a: TrendFigures, b: TrendFigures): TrendFigures {
  const sum = { ...a, durations: { ...a.durations }, queues: { ...a.queues } }
  addFigures(sum, b)
  return sum
}

function addFigures(sum: { -readonly [Name in keyof TrendFigures]: TrendFigures[Name] }, more: TrendFigures): void {
  sum.runs += more.runs
  sum.failed += more.failed
  sum.flaky += more.flaky
  sum.totalMs += more.totalMs
  addBins(sum.durations, more.durations)
  addBins(sum.queues, more.queues)
}

/** The sum's bins are its own: they are changed in place. */
function addBins(sum: Record<string, number>, more: Bins): void {
  for (const bin in more) sum[bin] = (sum[bin] ?? 0) + (more[bin] ?? 0)
}
