// Finds the span of the job that an event is about, and completes events that wait for it, as steps of a transaction.
import { number, text } from './columns.ts'
import { releaseMessages } from './messages.ts'
import { storedDeployment, storedJson, type DamagedRows } from './stored-json.ts'
import type { EventChunk } from '../../../model/event.ts'
import type { JobSpan } from '../../../model/deployment.ts'
import type { Steps, Within } from './steps.ts'

/** Adds the job to events that wait for it, and makes them due. */
export function* joinWaiting(instance: string, job: JobSpan, within: Within): Steps<void> {
  for (const row of yield [selectWaiting, [instance, job.jobId]]) {
    const id = number('chunk_id')(row)
    yield ['UPDATE events SET waits_for = NULL WHERE chunk_id = ?1', [id]]
    const known = within.damaged.orNothing({ chunk: id }, 'it is sent without its job', () =>
      storedJson<EventChunk>(row.content),
    )
    if (known === undefined) continue
    const chunk = { ...known, job }
    yield ['UPDATE chunks SET content = ?1 WHERE id = ?2', [JSON.stringify(chunk), id]]
    yield* releaseMessages(chunk, keyOf(row), within)
  }
}

const selectWaiting = `SELECT e.chunk_id, e.key, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
  WHERE e.instance = ?1 AND e.waits_for = ?2 ORDER BY e.chunk_id`
const keyOf = text('key')

/** The job's span, if a snapshot has it. */
export function* jobSpanOf(instance: string, jobId: number, damaged: DamagedRows): Steps<JobSpan | undefined> {
  const [row] = yield ['SELECT id, content FROM deployments WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  const read = (): JobSpan | undefined => storedDeployment(row?.content).job?.span
  return row && damaged.orNothing({ deployment: row.id }, 'its events are sent without its job', read)
}
