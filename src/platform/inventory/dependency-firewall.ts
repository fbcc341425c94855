// Whether the dependency firewall is on for a project (REST document, "Dependency firewall"). It is never asked about a package, because that writes
// audit events.
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { PlatformError } from '../rest/platform-error.ts'

const enablement = z.object({ enabled: z.boolean() })

export const dependencyFirewall: Collector = {
  kind: 'dependency_firewall',
  of: 'projects',
  says: 'Whether the dependency firewall is on.',
  asks: ['/projects/:id/dependency_firewall/enablement'],
  every: hour,
  requests: '1',
  atLeast: 1,
  role: 'Reporter; experimental, in paid tiers',
  metrics: [
    {
      name: 'platform.dependency_firewall.enabled',
      ...{ unit: '1', number: 'int', attributes: [] },
      description: 'Whether the dependency firewall is on (1) or off (0).',
    },
  ],
  collect: async ({ ask, owner }) => {
    try {
      const { enabled } = await ask.one(`${pathOf(owner)}/dependency_firewall/enablement`, enablement)
      return { points: [point('platform.dependency_firewall.enabled', enabled ? 1 : 0)] }
    } catch (error) {
      // A 404 with the key `enabled` means off; with `error` the platform lacks the endpoint; with `message` access is refused.
      if (error instanceof PlatformError && error.status === 404 && error.keys.includes('enabled')) {
        return { points: [point('platform.dependency_firewall.enabled', 0)] }
      }
      throw error
    }
  },
}
