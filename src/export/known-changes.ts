// The known changes of each project, for metrics.
import { ofInstance, type ByInstance } from '../model/by-instance.ts'
import type { Changes } from '../store/ports/changes.ts'
import type { KnownChanges } from '../telemetry/metrics/change-gauges.ts'

/** The age of so many open changes of a project is exported, the oldest. */
const maxOpen = 10_000

/** `changes`: undefined if they are not exported. */
export async function knownChanges(
  changes: Pick<Changes, 'states' | 'open'> | undefined,
  profile: ByInstance<string>,
): Promise<KnownChanges[]> {
  const known: KnownChanges[] = []
  for (const { instance, ...one } of (await changes?.states()) ?? []) {
    const key = { instance, projectId: one.project.id }
    known.push({ ...one, key, profile: ofInstance(profile, instance), open: (await changes?.open(key, maxOpen)) ?? [] })
  }
  return known
}
