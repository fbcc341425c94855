// Checks the inventory: the platform's last response for each kind of data, and the role that each kind requires. The dependency firewall and the
// policy store are checked with requests, because only the platform knows whether they are enabled.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { collectors } from '../../platform/inventory/collectors.ts'
import { dependencyFirewall, isFirewallOn, whyNoPolicyStore } from '../../platform/inventory/dependency-firewall.ts'
import { thingsOf } from './things.ts'
import type { Asking } from '../../platform/port/asking.ts'
import type { InventoryOptions } from './options.ts'
import type { InventoryState } from '../../core/store/ports/gauge-documents.ts'
import type { Millis } from '../../model/instant.ts'
import type { PlatformClient } from '../../platform/port.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

const report = reportOf('inventory')
const { kind: firewall } = dependencyFirewall
/** The maximum number of projects whose dependency firewall is checked. */
const maxFirewalls = 20
/** How late a running daemon may send a request that is due, ms. */
const maxLate = 600_000

export async function checkInventory(
  options: InventoryOptions,
  {
    client,
    store,
  }: {
    readonly client: Pick<PlatformClient, 'asking' | 'instance'> | undefined
    readonly store: SharedStore | undefined
  },
): Promise<Finding[]> {
  const ask = client?.asking({ priority: 'enrich' })
  const things = thingsOf(options)
  const policies = ask === undefined ? [] : [await policyStore(ask)]
  if (things.length === 0) {
    const on = policies.filter(({ level }) => level === 'fine')
    return [report('skipped', 'Inventory and queries are off.'), ...on]
  }
  // The states of a platform have its URL, followed by the groups if its token is for groups. Each project or group is read with one token.
  const isOwn = ({ instance }: InventoryState): boolean =>
    client === undefined || `${instance} `.startsWith(`${client.instance} `)
  const states = ((await store?.repositories.inventoryStates.all()) ?? []).filter(isOwn)
  const now = (await store?.now()) ?? 0
  const found: Finding[] = []
  for (const [kind, some] of Map.groupBy(things, one => one.kind)) {
    const names = some.map(({ of }) => of)
    if (kind === firewall && ask !== undefined) found.push(...(await firewalls(names, ask)))
    else {
      const known = names.map(of => ({ of, state: states.find(one => one.kind === kind && one.of === of) }))
      found.push(...findingsOf(kind, known, now))
    }
  }
  return [...found, ...policies]
}

function roleFor(kind: string): string | undefined {
  return collectors.find(one => one.kind === kind)?.role
}

interface KnownItem {
  readonly of: string
  readonly state: InventoryState | undefined
}

/** Yields the findings about one kind of inventory data, from the results that the daemon stored after its last requests. */
function* findingsOf(kind: string, known: readonly KnownItem[], now: Millis): Generator<Finding> {
  const refused = known.filter(({ state }) => state?.refusal !== undefined)
  const answered = known.filter(({ state }) => state?.refusal === undefined && state?.answeredAt !== undefined)
  const unknown = known.length - refused.length - answered.length
  const late = known.flatMap(({ state }) => (state !== undefined && now - state.nextAt > maxLate ? state.nextAt : []))
  const cut = known.filter(({ state }) => (state?.omitted ?? 0) > 0)
  const role = roleFor(kind)
  if (late.length > 0) {
    const since = iso(Math.min(...late))
    yield report(
      'warning',
      `${kind}: the daemon has not requested ${late.length} of ${known.length} since ${since}. The lines below are based on the last responses.`,
      'Check that the daemon runs with this store and this platform.',
    )
  }
  if (answered.length > 0) yield report('fine', `${kind} can be read for ${answered.length} of ${known.length}.`)
  for (const { of, state } of refused) {
    const next = `The daemon retries at ${iso(state?.nextAt ?? now)}, and when it starts.`
    yield report(
      'warning',
      `${kind} could not be read for ${of}: ${state?.refusal?.message ?? ''}`,
      role === undefined ? next : `Required: ${role}. ${next}`,
    )
  }
  for (const { of, state } of cut) {
    const what = `${kind} of ${of} has ${state?.omitted} points beyond the export limit.`
    yield report('warning', what, 'docs/INVENTORY.md has the limits.')
  }
  if (unknown > 0) yield report('skipped', `${kind}: ${unknown} of ${known.length} not fetched yet.`)
}

function iso(at: Millis): string {
  return new Date(at).toISOString()
}

async function firewalls(projects: readonly string[], ask: Asking): Promise<Finding[]> {
  const states = { on: [] as string[], off: [] as string[] }
  const failed: Finding[] = []
  for (const name of projects.slice(0, maxFirewalls)) {
    try {
      states[(await isFirewallOn(name, ask)) ? 'on' : 'off'].push(name)
    } catch (error) {
      const finding = broken(report, 'warning', error)
      const remedy = `${finding.remedy ?? ''} Required: ${dependencyFirewall.role}.`.trim()
      failed.push({ ...finding, what: `${firewall} of ${name}: ${finding.what}`, remedy })
    }
  }
  const unasked = projects.length - Math.min(projects.length, maxFirewalls)
  return [
    ...Object.entries(states).flatMap(([state, names]) =>
      names.length === 0 ? [] : [report('fine', `The dependency firewall is ${state} for ${names.join(', ')}.`)],
    ),
    ...failed,
    ...(unasked > 0
      ? [
          report(
            'skipped',
            `The dependency firewall was checked for only ${maxFirewalls} of ${projects.length} projects.`,
          ),
        ]
      : []),
  ]
}

async function policyStore(ask: Asking): Promise<Finding> {
  const why = await whyNoPolicyStore(ask)
  if (why !== undefined) return report('skipped', why)
  return report('fine', 'The policy store is on; its decisions arrive as audit events (PIPESPAN_AUDIT).')
}
