// Collects feature flags: the age of each flag, and the share of users for whom it is on, by environment (REST document, "Feature flags").
import { z } from 'zod'
import { maybe, wireFlag, wireList, wirePercent, wireText, wireTime } from '../rest/wire-field.ts'
import { collector, minute, since } from './collector.ts'

/** Maximum number of environment scopes that are exported per flag. */
export const maxScopes = 100

/** The first items of a list, and the number of items that were left out. */
function firstOf<T extends z.ZodType>(item: T) {
  return wireList.transform(all => ({
    items: all.slice(0, maxScopes).flatMap(one => item.safeParse(one).data ?? []),
    left: Math.max(0, all.length - maxScopes),
  }))
}

const none = { items: [], left: 0 }
const isActive = maybe(wireFlag)

const strategy = z.object({
  name: maybe(wireText),
  parameters: maybe(z.object({ percentage: maybe(wirePercent), rollout: maybe(wirePercent) })),
  scopes: maybe(firstOf(z.object({ environment_scope: maybe(wireText) }))),
})
type Strategy = z.infer<typeof strategy>

const strategies = maybe(firstOf(strategy))

/** Only flags without `new_version_flag` list scopes directly. Each of these scopes is switched on or off individually. */
const legacyScope = z.object({ environment_scope: maybe(wireText), active: isActive, strategies })

const flag = z.object({
  name: wireText,
  active: isActive,
  created_at: maybe(wireTime),
  scopes: maybe(firstOf(legacyScope)),
  strategies,
})

const key = 'feature_flag.key'
/** The environment scope that covers all environments. */
const everywhere = '*'

export const featureFlags = collector({
  kind: 'feature_flags',
  of: 'projects',
  description: 'Feature flags: for what share of users they are on, for which environments, and how old they are.',
  paths: ['/projects/:id/feature_flags'],
  every: 10 * minute,
  requests: '1 per 100 flags',
  role: 'Developer',
  read: async ({ ask, path }) => {
    const { items, left } = await ask.all(`${path}/feature_flags`, flag, {}, undefined, ['active'])
    const flags = items.map(one => ({ ...one, ...sharesOf(one) }))
    return { flags, omitted: flags.reduce((sum, { omitted }) => sum + omitted, left) }
  },
  metrics: [
    {
      ...{ name: 'platform.feature_flag.active', unit: '1', number: 'double' },
      attributes: [key, 'platform.feature_flag.scope'],
      description: `Share of users for whom the feature flag is on, for each environment scope (${maxScopes} at most): 1 on, 0 off, 0.25 a rollout to 25 %. A list of users counts as 0.`,
      points: ({ flags }) => flags.flatMap(({ name, shares }) => shares.map(([scope, share]) => [share, name, scope])),
    },
    {
      ...{ name: 'platform.feature_flag.age', unit: 's', attributes: [key] },
      description: 'Age of the feature flag: an old one may have been forgotten.',
      points: ({ flags }) => flags.map(({ name, created_at: at }) => [since(at), name]),
    },
  ],
})

/** The share of users by environment scope. If several strategies have the same scope, the largest share is used. */
function sharesOf({ active, scopes: legacy = none, strategies: current = none }: z.infer<typeof flag>) {
  const found = new Map<string, number>()
  const add = (scope: string, share: number): void => void found.set(scope, Math.max(found.get(scope) ?? 0, share))
  for (const one of legacy.items) {
    const isOn = active !== false && (one.active ?? active) === true
    add(one.environment_scope ?? everywhere, isOn ? largestShare(one.strategies?.items) : 0)
  }
  const isOn = active === true
  for (const step of current.items)
    for (const { environment_scope: scope } of step.scopes?.items ?? [])
      if (scope !== undefined) add(scope, isOn ? shareOf(step) : 0)
  if (found.size === 0) add(everywhere, isOn ? largestShare(current.items) : 0)
  const lists = [legacy, current, ...current.items.map(({ scopes = none }) => scopes)]
  const unread = lists.reduce((sum, { left }) => sum + left, 0)
  return { shares: [...found].slice(0, maxScopes), omitted: unread + Math.max(0, found.size - maxScopes) }
}

/** A flag without a strategy is on for all users. */
function largestShare(all: readonly Strategy[] = []): number {
  return all.length === 0 ? 1 : Math.max(...all.map(shareOf))
}

/**
 * The share of users that a strategy selects, from 0 to 1 (all users). A strategy with a user list counts as 0, because the list does not reveal its
 * share of all users.
 */
function shareOf({ name, parameters }: Strategy): number {
  if (name === 'default' || name === undefined) return 1
  if (name !== 'gradualRolloutUserId' && name !== 'flexibleRollout') return 0
  return Math.min(100, parameters?.percentage ?? parameters?.rollout ?? 0) / 100
}
