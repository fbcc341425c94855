// The known changes of each project, for the metrics of changes.
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import type { Changes } from './ports/changes.ts'
import type { KnownChanges } from '../../core/telemetry/metrics/families.ts'

/** The age of so many open changes of a project is exported, the oldest. */
const maxOpen = 10_000

export async function knownChanges(
  changes: Pick<Changes, 'states' | 'open'>,
  profile: ByInstance<string>,
): Promise<readonly KnownChanges[]> {
  const known: KnownChanges[] = []
  for (const { instance, ...one } of await changes.states()) {
    const key = { instance, projectId: one.project.id }
    known.push({ ...one, key, profile: ofInstance(profile, instance), open: await changes.open(key, maxOpen) })
  }
  return known
}
