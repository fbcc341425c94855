// Counts active jobs by project, state, type of runner and tags, and finds since when the oldest of them has waited.
//
// No observation says when a job began to wait. The last observation of its run gives a latest possible time; the earliest of these that was ever
// computed is remembered for the jobs that have waited longest.
import { tagSetOf, type ActiveJob, type ActiveJobs } from '../../model/totals.ts'
import type { Millis } from '../../model/instant.ts'

/** Maximum number of waiting jobs that are remembered. */
const maxPending = 1_000

interface Pending {
  readonly instance: string
  readonly job: number
  readonly since: Millis
}

export interface ActiveJobCounts {
  add(page: readonly ActiveJob[]): void
  /** `known`: what was remembered. `pending`: what is to be remembered. */
  since(known: readonly Pending[]): { readonly series: readonly ActiveJobs[]; readonly pending: readonly Pending[] }
}

type Series = Omit<ActiveJobs, 'oldest'> & { readonly waiting: Pending[] }

export function createActiveJobs(): ActiveJobCounts {
  const counts = new Map<string, Series>()
  return {
    add: page => {
      for (const { key, project, id, state, workerType, tags, pendingSince } of page) {
        const tagSet = tagSetOf(tags)
        const name = JSON.stringify([key, state, workerType, tagSet])
        const { count, waiting } = counts.get(name) ?? { count: 0, waiting: [] as Pending[] }
        if (pendingSince !== undefined) waiting.push({ instance: key.instance, job: id, since: pendingSince })
        counts.set(name, { key, project, state, workerType, tagSet, count: count + 1, waiting })
      }
    },
    since: known => {
      const earliest = new Map<string, Millis>()
      for (const one of known) earliest.set(nameOf(one), Math.min(one.since, earliest.get(nameOf(one)) ?? Infinity))
      const pending: Pending[] = []
      const series = [...counts.values()].map(({ waiting, ...own }): ActiveJobs => {
        let oldest: Millis | undefined
        for (const one of waiting) {
          const since = Math.min(one.since, earliest.get(nameOf(one)) ?? Infinity)
          pending.push({ ...one, since })
          oldest = Math.min(since, oldest ?? Infinity)
        }
        return { ...own, oldest }
      })
      return { series, pending: pending.sort((a, b) => a.since - b.since).slice(0, maxPending) }
    },
  }
}

function nameOf({ instance, job }: Pending): string {
  return `${instance} ${job}`
}
