// Checks whether webhooks report deployments, changes and incidents, by inspecting the latest ones in the store.
import { changeOfRun } from './model/change.ts'
import { changes } from './sql/changes.ts'
import { deployments } from './sql/deployments.ts'
import { incidentCursors } from './incident-poller.ts'
import { incidents } from './sql/incidents.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import type { PlatformClient } from '../../platform/port.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

const report = reportOf('events')
const day = 86_400_000
/** How many days the checks look back. An active project has some deployments, changes and incidents in that time. */
const periodDays = 30
/** How many of the latest deployments, changes or incidents a check inspects. */
const maxInspected = 100

interface Asked {
  readonly client: Pick<PlatformClient, 'instance'> | undefined
  readonly store: SharedStore | undefined
  readonly now: number
  readonly within: { readonly since: number; readonly until: number; readonly limit: number }
}

interface Seen {
  readonly at: number
  /** False if the deployment or change was reported only by a job or a pipeline, and not by a webhook. */
  readonly byWebhook: boolean
}

/** The objects that webhooks should report. Each row has the value for PIPESPAN_EVENTS, the name of the objects, and their check. */
const watched: readonly (readonly [event: string, name: string, find: (asked: Asked) => Promise<Finding>])[] = [
  ['deployment', 'Deployments', findDeployments],
  ['change', 'Changes (merge requests)', findChanges],
  ['issue', 'Incidents', findIncidents],
]

/** Without a store, nothing is known about deployments, changes or incidents. */
export async function checkEvents({
  config,
  client,
  store,
}: Pick<Asked, 'client' | 'store'> & { readonly config: { readonly events: readonly string[] } }): Promise<Finding[]> {
  const now = (await store?.now()) ?? Date.now()
  const within = { since: now - periodDays * day, until: now + day, limit: maxInspected }
  return Promise.all(
    watched.map(async ([event, name, find]) =>
      config.events.includes(event)
        ? find({ client, store, now, within })
        : report('skipped', `${name} are not watched (\`${event}\` is not in PIPESPAN_EVENTS).`),
    ),
  )
}

async function findDeployments({ store, within, now }: Asked): Promise<Finding> {
  const all = (await store?.on(deployments).list(within)) ?? []
  const seen = all.map(({ at, deployment }) => ({ at, byWebhook: deployment.event !== undefined }))
  return findingOf('Deployments', { flag: 'deployment events', otherwise: 'deployed jobs' }, seen, now)
}

async function findChanges({ store, within, now }: Asked): Promise<Finding> {
  const all = (await store?.on(changes).list(within)) ?? []
  // The store's list of changes lacks those that no webhook reported: such changes are known only from their pipelines.
  const runs = (await store?.views.lastFinished(maxInspected)) ?? []
  const others = runs.flatMap(({ run }) => changeOfRun(run) ?? [])
  const seen = [
    ...all.map(({ at, change }) => ({ at, byWebhook: change.event !== undefined })),
    ...others.map(({ pipeline }) => ({ at: pipeline?.createdAt ?? 0, byWebhook: false })),
  ].filter(({ at }) => at >= within.since)
  const how = { flag: 'merge request events', otherwise: 'pipelines of merge requests' }
  return findingOf('Changes (merge requests)', how, seen, now)
}

/**
 * Returns the finding of a check. `flag`: the webhook flag to enable. `otherwise`: the source that reports the objects if no webhook does. `seen`:
 * the objects in the store, latest first.
 */
function findingOf(
  name: string,
  { flag, otherwise }: { readonly flag: string; readonly otherwise: string },
  seen: readonly Seen[],
  now: number,
): Finding {
  const last = seen.find(({ byWebhook }) => byWebhook)
  if (last !== undefined) return report('fine', `${name} are reported by webhooks, most recently ${ago(last.at, now)}.`)
  const remedy = `Enable ${flag} in the webhooks: \`pipespan hooks ensure\` does this.`
  if (seen.length === 0) return report('skipped', `${name}: none was reported in the last ${periodDays} days.`, remedy)
  return report(
    'warning',
    `${name}: the last ${periodDays} days had ${otherwise}, but no webhook reported one.`,
    remedy,
  )
}

/** Incidents come from webhooks and from the platform's list, and the store does not record which of them reported an incident. */
async function findIncidents({ client, store, within, now }: Asked): Promise<Finding> {
  const [last] = (await store?.on(incidents).opened({ ...within, limit: 1 })) ?? []
  const openedAt = last?.view.openedAt
  if (openedAt !== undefined)
    return report('fine', `Incidents are reported; the last one was opened ${ago(openedAt, now)}.`)
  const none = `Incidents: none was opened in the last ${periodDays} days`
  // A token that is limited to groups has its own cursor, whose key begins with the instance.
  const cursors = client === undefined ? [] : ((await store?.repositories.of(incidentCursors).all()) ?? [])
  if (cursors.some(({ instance }) => instance.split(' ')[0] === client?.instance))
    return report('fine', `${none}; the platform's list of them is read.`)
  const remedy = 'Enable issues events in the webhooks: `pipespan hooks ensure` does this.'
  return report('skipped', `${none}, and the platform's list of them was not read yet.`, remedy)
}

function ago(at: number, now: number): string {
  const minutes = Math.max(0, Math.round((now - at) / 60_000))
  if (minutes < 120) return `${minutes} min ago`
  return minutes < 2 * 24 * 60 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 60 / 24)} days ago`
}
