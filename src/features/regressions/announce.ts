// Reports a regression that was found, or is over: as an event that is exported, and as a condition that people may be notified about.
import { takeEvents, type EventTaking } from '../../core/take-in/events.ts'
import type { Condition } from '../../model/condition.ts'
import type { Notifier } from '../../core/store/ports/reporter.ts'
import type { PlatformEvent } from '../../model/event.ts'
import type { Regression } from './documents.ts'

export interface Announcement {
  readonly which: 'detected' | 'resolved'
  readonly regression: Regression
  readonly event: PlatformEvent
}

/** In one transaction. `isExported`: whether the events are selected. */
export function announcing(
  taking: EventTaking,
  notifier: Pick<Notifier, 'reports'>,
  isExported: boolean,
): (found: readonly Announcement[]) => Promise<void> {
  return async found => {
    const conditions = found
      .filter(({ regression: { project, instance } }) => taking.selection.project(project, instance))
      .map(conditionOf)
    await takeEvents(isExported ? found.map(({ event }) => event) : [], taking, notifier.reports(...conditions))
  }
}

function conditionOf({ regression, which, event }: Announcement): Condition {
  const { instance, projectId, project, webUrl, id, kind, job, resolved, flagged, cause, first } = regression
  const isOver = which === 'resolved'
  return {
    ...{ kind: 'regressions', instance, project: { id: projectId, path: project, webUrl }, subject: id },
    ...{ state: isOver ? 'fixed' : 'broken', version: [isOver ? 1 : 0] },
    at: ((isOver ? resolved : undefined) ?? flagged).at,
    title: `${project}: ${event.body}`,
    text: isOver ? undefined : `Since pipeline ${first.pipelineId}: ${cause}`,
    url: first.url,
    details: {
      ...{ 'platform.cicd.regression.id': id, 'platform.cicd.regression.kind': kind },
      ...{ 'cicd.pipeline.task.name': job || undefined, 'cicd.pipeline.run.id': String(first.pipelineId) },
    },
  }
}
