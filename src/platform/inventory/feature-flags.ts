// Feature flags: which are on, in which environments, and how old they are (REST document, "Feature flags").
import { z } from 'zod'
import { maybe, wireText, wireTime } from '../rest/wire-field.ts'
import { minute, pathOf, point, type Collector } from './collector.ts'

const flag = z.object({
  name: wireText,
  active: maybe(z.boolean()),
  created_at: maybe(wireTime),
  strategies: maybe(z.array(z.object({ scopes: maybe(z.array(z.object({ environment_scope: maybe(wireText) }))) }))),
})

const key = 'feature_flag.key'
const scopeName = 'platform.feature_flag.scope'
/** The platform's word for all environments. */
const everywhere = '*'

export const featureFlags: Collector = {
  kind: 'feature_flags',
  of: 'projects',
  says: 'Feature flags: which are on, for which environments, and how old they are.',
  asks: ['/projects/:id/feature_flags'],
  every: 10 * minute,
  requests: '1 per 100 flags',
  atLeast: 1,
  role: 'Developer',
  metrics: [
    {
      name: 'platform.feature_flag.active',
      ...{ unit: '1', number: 'int', attributes: [key, scopeName] },
      description: 'Whether the feature flag is on (1) or off (0), for each environment scope of its strategies.',
    },
    {
      name: 'platform.feature_flag.age',
      ...{ unit: 's', number: 'double', attributes: [key] },
      description: 'Age of the feature flag: an old one may have been forgotten.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const flags = await ask.all(`${pathOf(owner)}/feature_flags`, flag)
    return {
      points: flags.flatMap(({ name, active, created_at: at, strategies = [] }) => {
        const named = strategies.flatMap(({ scopes = [] }) => scopes.flatMap(one => one.environment_scope ?? []))
        const scopes = named.length === 0 ? [everywhere] : [...new Set(named)]
        return [
          ...scopes.map(scope =>
            point('platform.feature_flag.active', active === true ? 1 : 0, { [key]: name, [scopeName]: scope }),
          ),
          ...(at === undefined ? [] : [point('platform.feature_flag.age', { since: at }, { [key]: name })]),
        ]
      }),
    }
  },
}
