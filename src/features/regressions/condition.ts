// A regression as a condition that people may be notified about. Pure.
import type { Condition } from '../../model/condition.ts'
import type { Regression } from '../../core/store/ports/regression-documents.ts'

/** `sentence`: what became worse, or was. */
export function ofRegression(regression: Regression, which: 'detected' | 'resolved', sentence: string): Condition {
  const { instance, projectId, project, webUrl, id, resolved, flagged, cause, first } = regression
  const isOver = which === 'resolved'
  return {
    ...{ kind: 'regressions', instance, project: { id: projectId, path: project, webUrl }, subject: id },
    ...{ state: isOver ? 'fixed' : 'broken', version: [isOver ? 1 : 0] },
    at: ((isOver ? resolved : undefined) ?? flagged).at,
    title: `${project}: ${sentence}`,
    text: isOver ? undefined : `Since pipeline ${first.pipelineId}: ${cause}`,
    url: first.url,
    details: {
      ...{ 'platform.cicd.regression.id': id, 'platform.cicd.regression.kind': regression.kind },
      ...{ 'cicd.pipeline.task.name': regression.job || undefined, 'cicd.pipeline.run.id': String(first.pipelineId) },
    },
  }
}
