// Whether the dependency firewall is on for a project (REST document, "Dependency firewall"). It is never asked about a package, because that writes
// audit events.
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { PlatformError } from '../port.ts'
import { wireFlag } from '../rest/wire-field.ts'
import type { Asking } from '../rest/asking.ts'

const enablement = z.object({ enabled: wireFlag })

export const dependencyFirewall: Collector = {
  kind: 'dependency_firewall',
  of: 'projects',
  description: 'Whether the dependency firewall is on.',
  asks: ['/projects/:id/dependency_firewall/enablement'],
  every: hour,
  requests: '1',
  atLeast: 1,
  role: 'who may read the project; experimental, in paid tiers',
  metrics: [
    {
      name: 'platform.dependency_firewall.enabled',
      ...{ unit: '1', number: 'int', attributes: [] },
      description: 'Whether the dependency firewall is on (1) or off (0). No point where the platform does not say.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const isOn = await isFirewallOn(ask, pathOf(owner))
    return { points: [point('platform.dependency_firewall.enabled', isOn ? 1 : 0)] }
  },
}

/**
 * The keys of a 404 decide, never its text: with `enabled` the firewall is off, with `error` the platform has none, with `message` it refuses to say,
 * which must not be taken for "off". Rejects with a PlatformError in the last two cases.
 */
export async function isFirewallOn(ask: Pick<Asking, 'one'>, projectPath: string): Promise<boolean> {
  try {
    return (await ask.one(`${projectPath}/dependency_firewall/enablement`, enablement)).enabled
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status !== 404) throw error
    const has = (key: string): boolean => error.keys.includes(key)
    if (has('message')) throw unsaid(error)
    if (has('enabled')) return false
    throw has('error') ? absent(error) : error
  }
}

function unsaid({ kind, status, endpoint, said }: PlatformError): PlatformError {
  return new PlatformError({
    what: `The platform does not say whether the dependency firewall is on (${status}: "${said}"): it may be on or off.`,
    remedy: "Check the project's path, and whether the token may read the project.",
    ...{ kind, status, endpoint, said },
  })
}

function absent({ kind, status, endpoint, said, isOfTheApi }: PlatformError): PlatformError {
  return new PlatformError({
    what: `The platform has no dependency firewall (${status}: "${said}").`,
    remedy: 'Remove `inventory.dependency_firewall` from the configuration, or upgrade the platform.',
    ...{ kind, status, endpoint, said, isOfTheApi },
  })
}
