// Collects whether the dependency firewall is on for a project (REST document, "Dependency firewall"). The collector never asks the firewall about a
// package, because such a question writes audit events.
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { PlatformError } from '../port.ts'
import { wireFlag } from '../rest/wire-field.ts'
import type { Asking } from '../rest/api.ts'

const enablement = z.object({ enabled: wireFlag })

export const dependencyFirewall: Collector = {
  kind: 'dependency_firewall',
  of: 'projects',
  description: 'Whether the dependency firewall is on.',
  paths: ['/projects/:id/dependency_firewall/enablement'],
  every: hour,
  requests: '1',
  atLeast: 1,
  role: 'any that may read the project; experimental, in paid tiers',
  metrics: [
    {
      name: 'platform.dependency_firewall.enabled',
      ...{ unit: '1', number: 'int', attributes: [] },
      description:
        'Whether the dependency firewall is on (1) or off (0). There is no point if the platform does not say.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const isOn = await isFirewallOn(ask, pathOf(owner))
    return { points: [point('platform.dependency_firewall.enabled', isOn ? 1 : 0)] }
  },
}

/**
 * The keys in the body of a 404 decide, never its text. `enabled`: the firewall is off. `error`: the platform has no firewall. `message`: the
 * platform refuses to say, which must not be mistaken for "off". Rejects with a PlatformError in the last two cases.
 */
export async function isFirewallOn(ask: Pick<Asking, 'one'>, projectPath: string): Promise<boolean> {
  try {
    return (await ask.one(`${projectPath}/dependency_firewall/enablement`, enablement)).enabled
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status !== 404) throw error
    const has = (key: string): boolean => error.keys.includes(key)
    if (has('message')) throw undisclosed(error)
    if (has('enabled')) return false
    throw has('error') ? unsupported(error) : error
  }
}

function undisclosed({ kind, status, endpoint, detail }: PlatformError): PlatformError {
  return new PlatformError({
    what: `The platform does not say whether the dependency firewall is on (${status}: "${detail}"): it may be on or off.`,
    remedy: "Check the project's path, and whether the token may read the project.",
    ...{ kind, status, endpoint, detail },
  })
}

function unsupported({ kind, status, endpoint, detail, affectsAllRequests }: PlatformError): PlatformError {
  return new PlatformError({
    what: `The platform has no dependency firewall (${status}: "${detail}").`,
    remedy: 'Remove `inventory.dependency_firewall` from the configuration, or upgrade the platform.',
    ...{ kind, status, endpoint, detail, affectsAllRequests },
  })
}
