// The changes that are known of each project, for whoever exports how many there are.
import type { Changes } from '../store/ports/changes.ts'
import type { KnownChanges } from '../telemetry/metrics/change-gauges.ts'

/** Open changes of a project whose age is exported, the oldest. */
const mostOpen = 10_000

/** `changes`: undefined where that is not exported. */
export async function knownChanges(
  changes: Pick<Changes, 'states' | 'open'> | undefined,
  profile: string,
): Promise<KnownChanges[]> {
  const known: KnownChanges[] = []
  for (const { instance, ...one } of (await changes?.states()) ?? []) {
    const key = { instance, projectId: one.project.id }
    known.push({ ...one, key, profile, open: (await changes?.open(key, mostOpen)) ?? [] })
  }
  return known
}
