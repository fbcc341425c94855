// Starts what asks from time to time about the things that features name.
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createSingleton } from '../core/find/rounds.ts'
import { createThingReader, type ThingReader } from '../core/find/thing-reader.ts'
import { defaultPlatform } from './configuration/platforms.ts'
import { startLoop, type Started } from './steps.ts'
import { takingOf } from './processing.ts'
import { takeEvents } from '../core/take-in/events.ts'
import { leaseOf, type Connection } from './connections.ts'
import type { Thing } from '../platform/port/asking.ts'
import type { Wiring } from './wiring.ts'

/** With one token; without one only what is no platform's is asked. The part is undefined where there is nothing to ask. */
export function startThings(
  wiring: Wiring,
  connection: Connection | undefined,
  things: readonly Thing[],
): Started<ThingReader | undefined> {
  const { store, clock, log } = wiring
  const { repositories, leases } = store
  const { name, config, client, scope } = connection ?? { name: defaultPlatform, config: wiring.config }
  const why = 'the inventory is polled again after the next start'
  const instance = client?.instance ?? config.platform.url ?? things[0]?.of
  if (instance === undefined || things.length === 0) return startLoop(undefined, why)
  const taking = takingOf(wiring)
  const part = createThingReader({
    ...{ things, instance, scope, client, repositories, clock, log },
    profile: config.platform.profile,
    lease: createSingleton(leaseOf('inventory', name), leases, clock),
    errors: createErrorThrottle(log, name),
    redactText: createTextRedaction(config.redact ?? []),
    onEvent: async ({ name: kind, severity = 'info', body, attributes }, owner, key) => {
      const about = { instance, kind, name: kind, severity, body, attributes }
      const whose = owner?.project === undefined ? { group: owner?.group?.path } : { project: owner.project }
      await takeEvents([{ ...about, ...whose, object: key, key, content: key }], taking)
    },
  })
  return startLoop(part, why)
}
