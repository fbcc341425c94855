// Connects to a platform's API with one token.
import { readFileSync } from 'node:fs'
import { ConfigError } from '../lib/fault.ts'
import { createClockOffset } from '../platform/rest/answer.ts'
import { createInMemoryBudget } from '../platform/rest/budget.ts'
import { createStoredBudget } from './stored-budget.ts'
import { createPlatformClient, type RestClient } from '../platform/rest/client.ts'
import type { Budget } from '../platform/port/budget.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { fingerprintOf } from '../lib/fingerprint.ts'
import { profiles, type ProfileName } from './profile.ts'
import { proxiedDispatcher } from '../platform/rest/http.ts'
import { wantedFactsOf } from './wanted-facts.ts'
import { version } from '../lib/version.ts'
import { proxiesOf } from './configuration/destinations.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { PlatformView } from './configuration/platforms.ts'
import type { Store } from '../core/store/ports/store.ts'
import type { Watch } from './own-telemetry/watch.ts'

export interface Platform {
  readonly client: RestClient
  readonly budget: Budget
  /** Whether the platform has answered since the start, with more than an error. */
  readonly hasAnswered: () => boolean
  /** How far the platform's clock is ahead of ours, ms; undefined until it has answered. */
  readonly clockOffset: () => number | undefined
}

/** Requests of one priority that are under way at once. */
const concurrency = 8

/**
 * With the one token of a view. `store`: shares the API budget with all processes that use the same token; without it the budget is this process's own. `watch` counts requests.
 * Undefined if no platform or no token is configured. Throws ConfigError.
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
