// Connects to a platform's API with one token.
import { readFileSync } from 'node:fs'
import { ConfigError } from '../lib/fault.ts'
import { createClockOffset } from '../platform/rest/answer.ts'
import { createInMemoryBudget, createKeptBudget, type BudgetRules } from '../platform/rest/budget.ts'
import { createPlatformClient, type RestClient } from '../platform/rest/client.ts'
import type { Budget } from '../platform/port/budget.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { fingerprintOf } from '../lib/secret.ts'
import { profiles, type ProfileName } from './profile.ts'
import { proxiedDispatcher } from '../platform/rest/http.ts'
import { version } from '../lib/version.ts'
import { proxiesOf } from './configuration/destinations.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { PlatformView } from './configuration/platforms.ts'
import type { Store } from '../core/store/ports/store.ts'
import type { Watch } from './own-telemetry/watch.ts'
import type { Repositories } from '../core/store/ports/repository.ts'
import { createWantedFacts, type WantedFacts, type WantedNames } from '../platform/wanted-facts.ts'
import type { Config } from './configuration/options.ts'

export interface Platform {
  readonly client: RestClient
  readonly budget: Budget
  /** Whether the platform has responded since the start, other than with an error. */
  readonly hasAnswered: () => boolean
  /** Returns how far the platform's clock is ahead of ours, ms; undefined until the platform has responded. */
  readonly clockOffset: () => number | undefined
}

/** The maximum number of concurrent requests of one priority. */
const concurrency = 8

/**
 * Connects to the platform of a configuration view, with the view's only token. With `store`, the API budget is shared by all processes that use the
 * token; without it, this process has its own budget. `watch` counts requests. Returns undefined if no platform or no token is configured. Throws
 * ConfigError.
 */
export function connectPlatform(
  { name, config }: Pick<PlatformView<ProfileName>, 'name' | 'config'>,
  store: Pick<Store, 'repositories'> | undefined,
  clock: Clock,
  log: Log,
  watch?: Pick<Watch, 'budget' | 'unauthorized' | 'leftOut'>,
): Platform | undefined {
  const { url, token, tokenType, caFile, budget: perMinute } = config.platform
  if (url === undefined || token.current() === undefined) return undefined
  const rules = { perMinute }
  const account = (): string => {
    const secret = token.current()
    return secret === undefined ? 'none' : fingerprintOf(secret)
  }
  const unwatched =
    store === undefined
      ? createInMemoryBudget(rules, clock)
      : createStoredBudget({ budgets: store.repositories.budgets, rules, account, clock })
  const budget = watch?.budget(unwatched, name) ?? unwatched
  let hasAnswered = false
  const clockOffset = createClockOffset()
  const client = createPlatformClient({
    url,
    token: () => token.current()?.reveal(),
    tokenType,
    ca: caFile === undefined ? undefined : readCa(caFile),
    dispatcher: proxiedDispatcher(url, proxiesOf(config)),
    budget,
    concurrency,
    onUnauthorized: watch && (() => watch.unauthorized(name)),
    onAnswer: () => (hasAnswered = true),
    clockOffset,
    onLeftOut: watch?.leftOut,
    eventWords: {
      profile: profiles[config.platform.profile],
      redactText: createTextRedaction(config.redact ?? []),
    },
    wanted: wantedFactsOf(config),
    userAgent: `Pipespan/${version}`,
    clock,
    log,
  })
  return { client, budget, hasAnswered: () => hasAnswered, clockOffset: clockOffset.current }
}

function readCa(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new ConfigError(
      `The platform's CA file ${file} cannot be read (${code}).`,
      'Use a PEM file that this process can read.',
      { cause },
    )
  }
}

// The API budget in the store. It uses the database's clock, which is the same for all processes.
interface StoredBudgetOptions {
  readonly budgets: Repositories['budgets']
  readonly rules: BudgetRules
  /** Returns a fingerprint of the current token. Processes with the same token share the budget. */
  readonly account: () => string
  readonly clock: Clock
}

/** The maximum wait before a request reads the stored API budget again, ms. */
const maxRereadDelay = 15_000

export function createStoredBudget({ budgets, rules, account, clock }: StoredBudgetOptions): Budget {
  const keeper: Parameters<typeof createKeptBudget>[1] = {
    maxRereadDelay,
    read: async () => {
      const [state, now] = await Promise.all([budgets.get({ account: account() }), budgets.now()])
      return { state, now }
    },
    change: async change => {
      const of = { account: account() }
      return budgets.change(of, (known, now) => {
        const { state, result } = change(known, now)
        return { document: { ...state, ...of }, result }
      })
    },
  }
  return createKeptBudget(rules, keeper, clock)
}

/** Returns what the attribute rules read from pipelines: labels and variables. Undefined if the rules only set literal values. */
export function wantedFactsOf(config: Pick<Config, 'attributes' | 'redact'>): WantedFacts | undefined {
  return createWantedFacts(wantedNames(config), createTextRedaction(config.redact ?? []))
}

function wantedNames({ attributes }: Pick<Config, 'attributes'>): WantedNames {
  const sources = attributes.rules.flatMap(({ set }) => Object.values(set))
  return {
    labels: sources.flatMap(source => (typeof source === 'object' && 'label' in source ? [source.label] : [])),
    variables: sources.flatMap(source => (typeof source === 'object' && 'variable' in source ? [source.variable] : [])),
  }
}

/** Whether the attribute rules need any labels or variables. */
export function ruleInputsOf(config: Pick<Config, 'attributes'>): {
  readonly labels: boolean
  readonly variables: boolean
} {
  const { labels, variables } = wantedNames(config)
  return { labels: labels.length > 0, variables: variables.length > 0 }
}
