// Checks of the inventory: how each kind was answered last, and which role it requires.
import { collectors } from '../../platform/inventory/collectors.ts'
import { inventoryOf } from '../../app/inventory.ts'
import { call } from './platform.ts'
import { reportOf, type Finding } from './finding.ts'
import { z } from 'zod'
import type { Config } from '../../config/options.ts'
import type { PlatformClient } from '../../platform/rest/client.ts'
import type { SharedStore } from '../../store/ports/store.ts'

export async function checkInventory(
  config: Config,
  store: SharedStore | undefined,
  client?: Pick<PlatformClient, 'asking'>,
): Promise<Finding[]> {
  const report = reportOf('inventory')
  const things = inventoryOf(config)
  if (things.length === 0) {
    const found = await policyStore(client)
    return [report('skipped', 'Inventory and queries are off.'), ...found.filter(({ level }) => level === 'fine')]
  }
  const states = (await store?.repositories.inventoryStates.all()) ?? []
  const found = [...Map.groupBy(things, ({ kind }) => kind)].flatMap(([kind, some]) => {
    const known = some.map(({ of }) => ({ of, state: states.find(one => one.kind === kind && one.of === of) }))
    const refused = known.filter(({ state }) => state?.refusal !== undefined)
    const answered = known.filter(({ state }) => state?.refusal === undefined && state?.answeredAt !== undefined)
    const unknown = known.length - refused.length - answered.length
    const role = collectors.find(one => one.kind === kind)?.role
    return [
      ...(answered.length > 0
        ? [report('fine', `${kind} can be read for ${answered.length} of ${known.length}.`)]
        : []),
      ...refused.map(({ of, state }) =>
        report(
          'warning',
          `${kind} cannot be read for ${of}: ${state?.refusal?.message ?? ''}`,
          role === undefined ? undefined : `Required: ${role}.`,
        ),
      ),
      ...(unknown > 0 ? [report('skipped', `${kind}: ${unknown} of ${known.length} not fetched yet.`)] : []),
    ]
  })
  return [...found, ...(await policyStore(client))]
}

/** The policy store is experimental, and nothing of it is exported: the check only says whether it is on. */
async function policyStore(client: Pick<PlatformClient, 'asking'> | undefined): Promise<Finding[]> {
  if (client === undefined) return []
  const report = reportOf('inventory')
  try {
    await client.asking(call).one('/security/policy_store/triggers', z.array(z.unknown()))
    return [report('fine', 'The policy store is on; its decisions arrive as audit events (PIPESPAN_AUDIT).')]
  } catch {
    return [report('skipped', 'The policy store (experimental) is off, or not visible to this token.')]
  }
}
