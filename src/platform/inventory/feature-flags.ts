// Collects feature flags: the share of users for whom each is on, by environment, and its age (REST document, "Feature flags").
import { z } from 'zod'
import { maybe, wireFlag, wireList, wirePercent, wireText, wireTime } from '../rest/wire-field.ts'
import { maxListed } from '../rest/api.ts'
import { minute, pathOf, point, type Collector } from './collector.ts'

/** Maximum number of environment scopes that are exported for one flag. */
export const maxScopes = 100

/** The first `max` items of a list, and how many more the list has. */
function firstOf<T extends z.ZodType>(item: T, max: number) {
  return wireList.transform(all => ({
    items: all.slice(0, max).flatMap(one => item.safeParse(one).data ?? []),
    left: Math.max(0, all.length - max),
  }))
}

const isActive = maybe(wireFlag)

const strategy = z.object({
  name: maybe(wireText),
  parameters: maybe(z.object({ percentage: maybe(wirePercent), rollout: maybe(wirePercent) })),
  scopes: maybe(firstOf(z.object({ environment_scope: maybe(wireText) }), maxScopes)),
})
type Strategy = z.infer<typeof strategy>

const strategies = maybe(firstOf(strategy, maxScopes))

/** Only flags without `new_version_flag` list scopes directly. Each of these scopes is on or off by itself. */
const legacyScope = z.object({ environment_scope: maybe(wireText), active: isActive, strategies })

const flag = z.object({
  name: wireText,
  active: isActive,
  created_at: maybe(wireTime),
  scopes: maybe(firstOf(legacyScope, maxScopes)),
  strategies,
})
type Flag = z.infer<typeof flag>

const key = 'feature_flag.key'
const scopeName = 'platform.feature_flag.scope'
/** The platform's name for all environments. */
const everywhere = '*'

export const featureFlags: Collector = {
  kind: 'feature_flags',
  of: 'projects',
  description: 'Feature flags: for what share of users they are on, for which environments, and how old they are.',
  paths: ['/projects/:id/feature_flags'],
  every: 10 * minute,
  requests: '1 per 100 flags',
  atLeast: 1,
  role: 'Developer',
  metrics: [
    {
      name: 'platform.feature_flag.active',
      ...{ unit: '1', number: 'double', attributes: [key, scopeName] },
      description: `Share of users for whom the feature flag is on, for each environment scope (${maxScopes} at most): 1 on, 0 off, 0.25 a rollout to 25 %. A list of users counts as 0.`,
    },
    {
      name: 'platform.feature_flag.age',
      ...{ unit: 's', number: 'double', attributes: [key] },
      description: 'Age of the feature flag: an old one may have been forgotten.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const { items, left } = await ask.all(`${pathOf(owner)}/feature_flags`, flag, {}, maxListed, ['active'])
    const flags = items.map(one => ({ ...one, ...sharesOf(one) }))
    return {
      points: flags.flatMap(({ name, created_at: at, shares }) => [
        ...shares.map(([scope, share]) =>
          point('platform.feature_flag.active', share, { [key]: name, [scopeName]: scope }),
        ),
        ...(at === undefined ? [] : [point('platform.feature_flag.age', { since: at }, { [key]: name })]),
      ]),
      omitted: flags.reduce((sum, { omitted }) => sum + omitted, left),
    }
  },
}

/** The share of users by environment scope. If several strategies have the same scope, the largest share counts. */
function sharesOf(one: Flag): { readonly shares: [scope: string, share: number][]; readonly omitted: number } {
  const { scopes: legacy, strategies: current } = one
  const shares = new Map<string, number>()
  const add = (scope: string, share: number): void => void shares.set(scope, Math.max(shares.get(scope) ?? 0, share))
  for (const { environment_scope: scope = everywhere, active, strategies: own } of legacy?.items ?? []) {
    const isOn = one.active !== false && (active ?? one.active) === true
    add(scope, isOn ? largestShare(own?.items ?? []) : 0)
  }
  const isOn = one.active === true
  for (const step of current?.items ?? []) {
    for (const { environment_scope: scope } of step.scopes?.items ?? []) {
      if (scope !== undefined) add(scope, isOn ? shareOf(step) : 0)
    }
  }
  if (shares.size === 0) add(everywhere, isOn ? largestShare(current?.items ?? []) : 0)
  const unread = [legacy, current, ...(current?.items ?? []).map(({ scopes }) => scopes)]
  const beyond = unread.reduce((sum, list) => sum + (list?.left ?? 0), 0)
  return { shares: [...shares].slice(0, maxScopes), omitted: beyond + Math.max(0, shares.size - maxScopes) }
}

/** A flag without a strategy is on for all users. */
function largestShare(strategiesOfFlag: readonly Strategy[]): number {
  return strategiesOfFlag.length === 0 ? 1 : Math.max(...strategiesOfFlag.map(shareOf))
}

/** From 0 to 1 (all users). A strategy with a list of users counts as 0, because a list does not tell a share. */
function shareOf({ name, parameters }: Strategy): number {
  if (name === 'default' || name === undefined) return 1
  if (name !== 'gradualRolloutUserId' && name !== 'flexibleRollout') return 0
  return Math.min(100, parameters?.percentage ?? parameters?.rollout ?? 0) / 100
}
