// Decodes runs from rows of `runs`, and the job pages of large runs. No other code decodes runs.
//
// A run is one document: its head in the form of the model, and its jobs with their export state. If its row or one of its pages is damaged, the run
// cannot be read.
import { bytes, keyOf, json, number, optional, record, type Row } from './columns.ts'
import { documentBytes, documentOf } from './stored-json.ts'
import { DataError } from '../../../lib/fault.ts'
import { jobsOfPage } from './job-pages.ts'
import type { DamagedRows } from './damaged-rows.ts'
import type { Job } from '../../../model/job.ts'
import type { Run, RunHead } from '../../../model/run.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { StoredRun } from '../ports/runs.ts'

export function nameOf({ instance, pipelineId }: RunKey): string {
  return `${instance}\n${pipelineId}`
}

/** The content of the column `document`. `jobs` is empty if the jobs are in pages. */
type Document = Omit<RunHead, 'key' | 'project'> & { readonly jobs: readonly Job[] }

/** Encodes the document of a run. `jobs`: the jobs that are stored in the row. */
export function runDocument({ key, project: own, jobs: all, ...head }: Run, jobs: readonly Job[]): Uint8Array {
  return documentBytes({ ...head, jobs } satisfies Document)
}

/** Decodes a run. `pages`: the pages that were read, in order. Undefined if the row is missing or damaged. */
export function storedRun(damaged: DamagedRows, of: Row | undefined, pages: readonly Row[]): StoredRun | undefined {
  return damaged.row('runs', of, row => {
    const { jobs: own, ...head } = documentOf<Document>(document(row))
    const jobs = new Map<number, Job>()
    for (const job of own) jobs.set(job.id, job)
    for (const page of pages) for (const job of jobsOfPage(page)) jobs.set(job.id, job)
    return {
      run: { key: keyOf(row), project: project(row), ...head, jobs },
      timing: timing(row),
      firstSeenBy: firstSeenBy(row),
    }
  })
}

/** The error to throw if a run is needed but cannot be read. */
export function damagedRun({ instance, pipelineId }: RunKey): DataError {
  return new DataError(
    `The stored run of pipeline ${pipelineId} of ${instance} is damaged.`,
    'Other runs are not affected; a backup may still have this one intact.',
  )
}

const document = bytes('document')
const project = json<RunHead['project']>('project')
const timing = record({
  changedAt: number('changed_at'),
  endedAt: optional(number, 'ended_at'),
  enrichingUntil: optional(number, 'enriching_until'),
  dueAt: optional(number, 'due_at'),
})
export const firstSeenBy = json<StoredRun['firstSeenBy']>('first_seen_by')
