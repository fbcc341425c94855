// Events on PostgreSQL: replicas may process deliveries in another order than that of their arrival.
import { lockNames, taken } from './steps.ts'
import { writeDeployments } from '../sql/deployments.ts'
import { writeEvent } from '../sql/events.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent } from '../ports/events.ts'
import type { ReportedDeployment } from '../ports/deployments.ts'
import type { Session } from './database.ts'

/** Within a transaction, after everything that locks rows of runs. */
export async function addEvents(
  session: Session,
  events: readonly ReceivedEvent[],
  deployments: readonly ReportedDeployment[],
  now: Millis,
): Promise<void> {
  await lockNames(session, [
    ...events.map(({ event }) => event.object),
    // Serialises all writers of a job's deployment and of the events that wait for it.
    ...events.flatMap(({ chunk, waits }) => (waits === undefined ? [] : [lockOf(chunk.key.instance, waits.jobId)])),
    ...deployments.flatMap(({ deployment: { instance, jobId, deploymentId } }) => [
      ...(jobId === undefined ? [] : [lockOf(instance, jobId)]),
      ...(deploymentId === undefined ? [] : [`deployment ${deploymentId} ${instance}`]),
    ]),
  ])
  for (const event of events) await taken(session, writeEvent(event, now, 'by arrival', session.damaged))
  await taken(session, writeDeployments(deployments, now, session.damaged, { lock: 'FOR UPDATE', listing: 'at once' }))
}

function lockOf(instance: string, jobId: number): string {
  return `deployment of job ${jobId} ${instance}`
}
