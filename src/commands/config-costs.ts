// How many requests to the platform's API the configured features cost, in sentences for people.
import type { Config } from '../daemon/configuration/options.ts'
import { features } from '../features.ts'
import { surroundingsOf } from '../daemon/export.ts'
import { platformViews } from '../daemon/configuration/platforms.ts'
import { wishesOf } from '../daemon/wanted-facts.ts'

/** Empty if no feature costs any. With several tokens, of each. */
export function costsOf(config: Config): string[] {
  const views = platformViews(config)
  const costs = views.flatMap(view =>
    costsOfOne(view.config).map(cost => (views.length === 1 ? cost : `${view.name}: ${cost}`)),
  )
  const surroundings = surroundingsOf(config, features)
  return [...costs, ...features.flatMap(one => one.costs?.(config as never, surroundings) ?? [])]
}

function costsOfOne(config: Config): string[] {
  return [
    ...hookCosts(config),
    ...attributeCosts(config),
    ...features.flatMap(one => one.perToken?.costs?.(config as never, config) ?? []),
  ]
}

/** Whether there is a platform to send requests to. */
function asksPlatform({ platform }: Config): boolean {
  return platform.url !== undefined && platform.token.current() !== undefined
}

function* attributeCosts(config: Config): Generator<string> {
  const { labels, variables } = wishesOf(config)
  const without = 'only those in webhooks are read without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
  const words = (cost: string): string => (asksPlatform(config) ? cost : without)
  if (labels) yield `Labels (attributes.rules): ${words('at most 2 requests for each pipeline of a merge request.')}`
  if (variables) yield `Variables (attributes.rules): ${words('1 request for each pipeline that no webhook reported.')}`
}

function hookCosts({ redelivery, watchHooks, poll }: Config): string[] {
  const owners = (poll.projects ?? []).length + (poll.groups ?? []).length
  if (owners === 0 || !(redelivery || watchHooks)) return []
  const on = redelivery ? 'PIPESPAN_REDELIVERY' : 'PIPESPAN_WATCH_HOOKS'
  return [
    `Hooks (${on}): ${owners} ${owners === 1 ? 'request' : 'requests'} every 5 minutes, and 1 more for each hook of this daemon and each 100 of its deliveries.`,
  ]
}
