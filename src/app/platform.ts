// Connects to the platform's API, and starts what uses it: enrichment, polling and redelivery.
import { readFileSync } from 'node:fs'
import { ConfigError } from '../lib/fault.ts'
import { createClockOffset } from '../platform/rest/clock-offset.ts'
import { createEnricher, type Enricher } from '../enrichment/enricher.ts'
import { createInMemoryBudget } from '../platform/rest/kept-budget.ts'
import { createStoredBudget } from './stored-budget.ts'
import { createPlatformClient, type RestClient } from '../platform/rest/client.ts'
import type { PlatformError } from '../platform/port.ts'
import type { Budget } from '../platform/port/budget.ts'
import { createPoller, type Poller } from '../discovery/poller.ts'
import { pollMessage, pollScopeOf } from '../discovery/poll-scope.ts'
import { createDeliveryHeaders } from '../platform/webhook/delivery-headers.ts'
import { selectEvents } from '../platform/webhook/event-selection.ts'
import { createRedelivery, type Redelivery } from '../discovery/redelivery.ts'
import { createTextRedaction } from '../platform/text-redaction.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { fingerprintOf } from '../tokens/fingerprint.ts'
import { profiles, type ProfileName } from './profile.ts'
import { proxiedDispatcher } from '../platform/rest/connection.ts'
import { wantedFactsOf, wishesOf } from './wanted-facts.ts'
import { version } from '../lib/version.ts'
import type { MergeRules } from '../processing/merge-observations.ts'
import { proxiesOf } from '../config/destinations.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { Log } from '../lib/log.ts'
import type { Selection } from '../processing/selection.ts'
import type { Context } from './context.ts'
import type { Started } from './steps.ts'
import type { Store } from '../store/ports/store.ts'
import type { Watch } from '../self-telemetry/watch.ts'

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
 * `store`: shares the API budget with all processes that use the same token; without it the budget is this process's own. `watch` counts requests.
 * Undefined if no platform or no token is configured. Throws ConfigError.
 */
export function connectPlatform(
  config: Config<ProfileName>,
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
  const budget = watch?.budget(unwatched) ?? unwatched
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
    onUnauthorized: watch?.unauthorized,
    onAnswer: () => (hasAnswered = true),
    clockOffset,
    onLeftOut: watch?.leftOut,
    auditWords: {
      profile: profiles[config.platform.profile],
      redactText: createTextRedaction(config.redact ?? []),
      address: config.auditAddress,
    },
    wanted: wantedFactsOf(config),
    userAgent: `Pipespan/${version}`,
    clock,
    log,
  })
  return { client, budget, hasAnswered: () => hasAnswered, clockOffset: clockOffset.current }
}

/** What uses the platform's API. */
export interface PlatformParts {
  readonly enricher: Enricher
  /** Undefined: nothing is polled. */
  readonly poller: Poller | undefined
  /** Undefined: nobody looks at hooks. */
  readonly redelivery: Redelivery | undefined
  /** Why the platform gives no answers at this moment. */
  readonly error: () => PlatformError | undefined
  readonly hasAnswered: Platform['hasAnswered']
  readonly clockOffset: Platform['clockOffset']
}

/** Starts enrichment, and the poller and redelivery where they are configured. */
export function startPlatformParts(
  { config, store, events, clock, log }: Context,
  { client, budget, hasAnswered, clockOffset }: Platform,
  selection: Selection,
  rules: MergeRules,
): Started<PlatformParts> {
  const { runs, enrichment, repositories, leases, inbox, views } = store
  const errors = createErrorThrottle(log)
  const shared = { client, runs, repositories, leases, rules, selection, errors, clock, log }
  const { publicUrl, poll, platform, traceparent } = config
  const { interval, lookback, running } = poll
  const scope = pollScopeOf(poll)
  log.info(pollMessage(scope, platform.budget))
  const poller =
    scope.description === undefined
      ? undefined
      : createPoller({
          ...{ ...shared, ...scope, interval, lookback, running, perMinute: platform.budget },
          onFound: () => events.discovered.emit(),
        })
  const enricher = createEnricher({
    ...shared,
    ...{ budget, traceparent, wants: wishesOf(config), queue: enrichment, trends: views.trends },
    storeNow: async () => store.now(),
    onTriggered: projectId => poller?.hint(projectId),
    onMissed: projectId => poller?.hint(projectId),
    onEnded: projectId => poller?.remember(projectId),
    onChange: () => events.enriched.emit(),
  })
  events.processed.on(() => enricher.wake())
  events.discovered.on(() => enricher.wake())
  const redelivery =
    (config.redelivery || config.watchHooks) && publicUrl !== undefined
      ? createRedelivery({
          ...shared,
          ...{ inbox, projects: scope.projects, groups: scope.groups, publicUrl, profile: platform.profile },
          reads: createDeliveryHeaders(profiles[platform.profile], selectEvents(config.events)),
          redelivers: config.redelivery,
          onAccepted: () => events.accepted.emit(),
          onOversize: project => poller?.hurry(project),
        })
      : undefined
  const loops = [enricher, poller, redelivery].filter(loop => loop !== undefined)
  for (const loop of loops) loop.start()
  return {
    part: { enricher, poller, redelivery, error: errors.ofPlatform, hasAnswered, clockOffset },
    why: 'pending requests to the platform continue after the next start',
    stop: async () => {
      await Promise.all(loops.map(loop => loop.stop()))
      await client.close()
    },
  }
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
