// Collects whether the dependency firewall is on for a project (REST document, "Dependency firewall"). The collector never asks the firewall about a
// package, because that would write audit events. The doctor also checks whether the policy store is on.
import { z } from 'zod'
import { collector, hour } from './collector.ts'
import { PlatformError } from '../port.ts'
import { reasonOf } from '../../lib/fault.ts'
import { segmentOfNamed } from '../rest/projects.ts'
import { wireFlag } from '../rest/wire-field.ts'
import type { Asking } from '../port/asking.ts'

const enablement = z.object({ enabled: wireFlag })

export const dependencyFirewall = collector({
  kind: 'dependency_firewall',
  of: 'projects',
  description: 'Whether the dependency firewall is on.',
  paths: ['/projects/:id/dependency_firewall/enablement'],
  every: hour,
  requests: '1',
  role: 'any role that may read the project; experimental, in paid tiers',
  read: async ({ ask, path }) => ({ isOn: await isOnAt(path, ask) }),
  metrics: [
    {
      ...{ name: 'platform.dependency_firewall.enabled', unit: '1' },
      description:
        'Whether the dependency firewall is on (1) or off (0). No point is exported if the platform does not report it.',
      points: ({ isOn }) => [[isOn ? 1 : 0]],
    },
  ],
})

/** `project`: the project's ID or path. */
export async function isFirewallOn(project: string, ask: Pick<Asking, 'one'>): Promise<boolean> {
  return isOnAt(`/projects/${segmentOfNamed(project)}`, ask)
}

/**
 * Whether the dependency firewall is on for a project or group. If the response is a 404, the keys in its body decide, never its message. The key
 * `enabled` means that the firewall is off, and `error` that the platform has no firewall. `message` means that the platform refuses to reveal the
 * state, which must not be mistaken for "off". Rejects with a PlatformError if the key is `error` or `message`.
 */
async function isOnAt(path: string, ask: Pick<Asking, 'one'>): Promise<boolean> {
  try {
    return (await ask.one(`${path}/dependency_firewall/enablement`, enablement)).enabled
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status !== 404) throw error
    const { kind, status, endpoint, detail, keys, affectsAllRequests } = error
    const facts = { kind, status, endpoint, detail }
    if (keys.includes('message')) {
      throw new PlatformError({
        what: `The platform does not reveal whether the dependency firewall is on (${status}: "${detail}"): it may be on or off.`,
        remedy: "Check the project's path, and whether the token may read the project.",
        ...facts,
      })
    }
    if (keys.includes('enabled')) return false
    if (!keys.includes('error')) throw error
    throw new PlatformError({
      what: `The platform has no dependency firewall (${status}: "${detail}").`,
      remedy: 'Remove `inventory.dependency_firewall` from the configuration, or upgrade the platform.',
      ...{ ...facts, affectsAllRequests },
    })
  }
}

/**
 * Returns the reason why the policy store is not on, or why its state is unknown; undefined if it is on. The policy store is experimental. It is not
 * exported, because its decisions already arrive as audit events.
 */
export async function whyNoPolicyStore(ask: Pick<Asking, 'one'>): Promise<string | undefined> {
  try {
    await ask.one('/security/policy_store/triggers', z.array(z.unknown()))
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError)) return `The policy store could not be checked: ${reasonOf(error)}.`
    // As for the firewall, the keys in the body of a 404 decide: if `error` is the only key, the platform has no such endpoint.
    const { status, code, keys } = error
    if (status === 404 && keys.includes('error') && !keys.includes('message'))
      return 'This platform has no policy store.'
    if (status === 404) return 'The policy store (experimental) is off.'
    if (status === 403 && code === undefined)
      return 'The policy store is not licensed on this platform, or this token may not see it.'
    return `The policy store could not be checked: ${error.message}`
  }
}
