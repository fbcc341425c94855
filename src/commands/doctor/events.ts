// Checks of what is reported about deployments, changes and incidents: whether webhooks report them, by what the store has of them.
import { changes as storedChanges } from '../../features/deployments/sql/changes.ts'
import { deployments as deployed } from '../../features/deployments/sql/deployments.ts'
import { incidents } from '../../features/deployments/sql/incidents.ts'
import { changeOfRun } from '../../model/change.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import type { Config } from '../../daemon/configuration/options.ts'
import type { PlatformClient } from '../../platform/port.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

const report = reportOf('events')
const day = 86_400_000
/** Days that are looked back: in this time a project that is worked on has some of each. */
const lookedBack = 30
/** How many of the latest are looked at. */
const lookedAt = 100

/** A thing that webhooks report, and that jobs and pipelines show, too. */
interface Watched {
  readonly name: string
  /** In PIPESPAN_EVENTS. */
  readonly word: string
  /** What to enable in the hook. */
  readonly flag: string
  /** What shows it without an event. */
  readonly otherwise: string
}

const deployments: Watched = {
  name: 'Deployments',
  word: 'deployment',
  flag: 'deployment events',
  otherwise: 'deployed jobs',
}
const changes: Watched = {
  name: 'Changes (merge requests)',
  word: 'change',
  flag: 'merge request events',
  otherwise: 'pipelines of merge requests',
}

export async function checkEvents(
  { events }: Pick<Config, 'events'>,
  client: Pick<PlatformClient, 'instance'> | undefined,
  store: SharedStore | undefined,
): Promise<Finding[]> {
  const now = (await store?.now()) ?? Date.now()
  const within = { since: now - lookedBack * day, until: now + day, limit: lookedAt }
  const off = ({ name, word }: Pick<Watched, 'name' | 'word'>): Finding =>
    report('skipped', `${name} are not watched (\`${word}\` is not in PIPESPAN_EVENTS).`)
  const found: Finding[] = []

  if (!events.includes('deployment')) found.push(off(deployments))
  else {
    const all = (await store?.on(deployed).list(within)) ?? []
    const seen = all.map(({ at, deployment }) => ({ at, byWebhook: deployment.event !== undefined }))
    found.push(findingOf(deployments, seen, now))
  }
  if (!events.includes('change')) found.push(off(changes))
  else {
    const all = (await store?.on(storedChanges).list(within)) ?? []
    // A change that no webhook reported is not in the list: it is known by its pipelines alone.
    const runs = (await store?.views.lastFinished(lookedAt)) ?? []
    const seen = [
      ...all.map(({ at, change }) => ({ at, byWebhook: change.event !== undefined })),
      ...runs.flatMap(({ run }) => {
        const change = changeOfRun(run)
        return change === undefined ? [] : [{ at: change.pipeline?.createdAt ?? 0, byWebhook: false }]
      }),
    ].filter(({ at }) => at >= within.since)
    found.push(findingOf(changes, seen, now))
  }
  if (!events.includes('issue')) found.push(off({ name: 'Incidents', word: 'issue' }))
  else found.push(await incidentsOf(client, store, within, now))
  return found
}

interface Seen {
  readonly at: number
  /** Else by its job or pipeline only. */
  readonly byWebhook: boolean
}

/** `seen`: of those that webhooks reported the latest first. */
function findingOf({ name, flag, otherwise }: Watched, seen: readonly Seen[], now: number): Finding {
  const last = seen.find(({ byWebhook }) => byWebhook)
  if (last !== undefined) return report('fine', `${name} are reported by webhooks, the last one ${ago(last.at, now)}.`)
  const remedy = `Enable ${flag} in the webhooks: \`pipespan hooks ensure\` does.`
  if (seen.length === 0) {
    return report('skipped', `${name}: none was reported in the last ${lookedBack} days.`, remedy)
  }
  const what = `${name}: the last ${lookedBack} days had ${otherwise}, but no webhook reported one.`
  return report('warning', what, remedy)
}

/** Incidents come from webhooks and from the platform's list, and the store does not distinguish them. */
async function incidentsOf(
  client: Pick<PlatformClient, 'instance'> | undefined,
  store: SharedStore | undefined,
  within: { readonly since: number; readonly until: number; readonly limit: number },
  now: number,
): Promise<Finding> {
  const [last] = (await store?.on(incidents).opened({ ...within, limit: 1 })) ?? []
  const openedAt = last?.view.openedAt
  if (openedAt !== undefined)
    return report('fine', `Incidents are reported, the last one was opened ${ago(openedAt, now)}.`)
  const none = `Incidents: none was opened in the last ${lookedBack} days`
  const cursor = client && (await store?.repositories.incidentCursors.get({ instance: client.instance }))
  if (cursor !== undefined) return report('fine', `${none}; the platform's list of them is read.`)
  const remedy = 'Enable issues events in the webhooks: `pipespan hooks ensure` does.'
  return report('skipped', `${none}, and the platform's list of them was not read yet.`, remedy)
}

function ago(at: number, now: number): string {
  const minutes = Math.max(0, Math.round((now - at) / 60_000))
  if (minutes < 120) return `${minutes} min ago`
  return minutes < 2 * 24 * 60 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 60 / 24)} days ago`
}
