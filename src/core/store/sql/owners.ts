// The owners of data, for both databases: each project, group and instance with its latest path. Scopes select from these rows. A renamed or moved
// project is therefore shown or hidden with all of its data, even data that was written under an older path.
import { each, forRows, type Step, type StepValue } from './steps.ts'
import { newestSecondOf, versionOfField, type Versioned } from '../../../model/versioned.ts'
import { number, record, text, type Row, plainText } from './columns.ts'
import type { Run } from '../../../model/run.ts'
import type { SeenOwner } from '../ports/runs.ts'

export function ownerOfRun({ key, project }: Run): SeenOwner {
  // The version of the path has two parts: whether the path comes from an observation of a pipeline, and the time of the observation.
  const at = newestSecondOf((versionOfField(project, 'path') ?? '').split(':')[1] ?? '') * 1_000
  return { instance: key.instance, project: project.facts, at }
}

/** Returns the owner of a report. A report without a time of its own arrived with a run, whose project is already recorded. */
export function ownerOfReport(
  { instance, project }: Pick<SeenOwner, 'instance' | 'project'>,
  own: Pick<Versioned<object>, 'version'> | undefined,
): SeenOwner {
  return { instance, project, at: own === undefined ? 0 : newestSecondOf(own.version) * 1_000 }
}

/** Returns the group path for an event's row. It is empty if the event belongs to a project. */
export function groupPathOf({ project, group }: Pick<SeenOwner, 'project' | 'group'>): string {
  return project === undefined ? plainText(group ?? '') : ''
}

/**
 * Writes new owners. This must be the last write: a transaction that has locked these rows locks nothing else. Usually no owner is new, and nothing
 * is written or locked. A later path replaces an earlier one; an unknown path never replaces a known one.
 */
const writeNew = forRows(
  ['text', 'bigint', 'text', 'text', 'bigint'],
  ({ rows }) => `
  WITH seen (instance, project_id, group_path, path, seen_at) AS (${rows})
  INSERT INTO owners (instance, project_id, group_path, path, seen_at)
  SELECT * FROM seen WHERE NOT EXISTS (
    SELECT 1 FROM owners o WHERE o.instance = seen.instance AND o.project_id = seen.project_id AND o.group_path = seen.group_path
      AND (seen.path IN ('', o.path) OR (o.path <> '' AND o.seen_at > seen.seen_at)))
  ORDER BY instance, project_id, group_path
  ON CONFLICT (instance, project_id, group_path) DO UPDATE SET path = excluded.path, seen_at = excluded.seen_at, version = owners.version + 1
  WHERE excluded.path <> '' AND (owners.path = '' OR owners.seen_at <= excluded.seen_at)`,
)

export function writeOwners(seen: readonly SeenOwner[]): Step {
  const latest = new Map<string, StepValue[]>()
  for (const { instance, project, group, at } of seen.toSorted((a, b) => a.at - b.at)) {
    const path = plainText(project === undefined ? (group ?? '') : (project.path ?? project.name ?? ''))
    const place = [instance, project?.id ?? 0, groupPathOf({ project, group })]
    const name = JSON.stringify(place)
    if (path !== '' || !latest.has(name)) latest.set(name, [...place, path, Math.round(at)])
  }
  return each(writeNew, [...latest.values()])
}

export const ownerRow: (row: Row) => OwnerRow = record({
  id: number('id'),
  instance: text('instance'),
  projectId: number('project_id'),
  path: text('path'),
})
export interface OwnerRow {
  readonly id: number
  readonly instance: string
  /** The project id, or 0 for a group or an instance. */
  readonly projectId: number
  readonly path: string
}

/** The sum of all owners' versions. It grows with every change, regardless of the order in which transactions commit. */
export const selectOwnersVersion =
  'SELECT count(*) AS owners, CAST(coalesce(sum(version), 0) AS bigint) AS versions FROM owners'
export const selectOwners = 'SELECT id, instance, project_id, path FROM owners'
