// The schema of incidents, which the platform lists among its issues. Titles and texts are never read.
import { z } from 'zod'
import { maybe, wireId, wireText, wireTime } from './wire-field.ts'
import { reportedIncident, type Incident } from '../../model/incident.ts'

/** The schema of an incident. An issue in an unknown state is invalid. */
export const restIncident = (instance: string) =>
  z
    .object({
      iid: wireId,
      project_id: wireId,
      state: wireText,
      updated_at: wireTime,
      created_at: maybe(wireTime),
      closed_at: maybe(wireTime),
      severity: maybe(wireText),
      references: maybe(z.object({ full: maybe(wireText) })),
    })
    .transform((issue, context): Incident => {
      const { iid, state, updated_at: at, created_at: openedAt, closed_at: closedAt, severity } = issue
      // The full reference of an issue begins with the path of its project.
      const path = issue.references?.full?.replace(/#\d+$/, '')
      const project = {
        id: issue.project_id,
        ...(path !== undefined && { path, name: path.split('/').at(-1) ?? path }),
      }
      const incident = reportedIncident({ instance, project, iid, state, at, openedAt, closedAt, severity })
      if (incident !== undefined) return incident
      context.addIssue({ code: 'custom', message: 'unknown state' })
      return z.NEVER
    })
