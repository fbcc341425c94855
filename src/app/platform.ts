// The platform's API as the daemon uses it: the client, and who asks through it. Part of the composition root.
import { readFileSync } from 'node:fs'
import { ConfigError } from '../lib/fault.ts'
import { createEnricher, type Enricher } from '../enrichment/enricher.ts'
import { createMemoryBudget } from '../platform/rest/memory-budget.ts'
import { createPlatformClient, type PlatformClient } from '../platform/rest/client.ts'
import { createPoller, type Poller } from '../discovery/poller.ts'
import { createRedelivery, type Redelivery } from '../discovery/redelivery.ts'
import { createStoredBudget } from '../discovery/stored-budget.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { fingerprintOf } from '../tokens/fingerprint.ts'
import { profiles, type ProfileName } from '../platform/profile.ts'
import { proxiedDispatcher } from '../platform/rest/connection.ts'
import { version } from '../lib/version.ts'
import type { MergeRules } from '../processing/merge-observations.ts'
import type { Budget } from '../platform/rest/budget.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { Log } from '../lib/log.ts'
import type { PlatformError } from '../platform/rest/platform-error.ts'
import { createSelection, type Selection } from '../processing/selection.ts'
import type { Store } from '../store/ports/store.ts'

export interface Platform {
  readonly client: PlatformClient
  readonly budget: Budget
}

/** Requests of one priority that are under way at once. */
const concurrency = 8

/**
 * `store`: where the budget is shared with whoever has the same token; undefined: it is this process's alone. `watched`: the
 * budget as the daemon watches it. Undefined where no platform or no token is configured: then nothing is asked. Throws
 * ConfigError.
 */
export function connectPlatform(
  config: Config<ProfileName>,
  store: Pick<Store, 'notes'> | undefined,
  clock: Clock,
  log: Log,
  watched: (budget: Budget) => Budget = budget => budget,
): Platform | undefined {
  const { url, token, tokenType, caFile, budget: perMinute } = config.platform
  if (url === undefined || token.current() === undefined) return undefined
  const { httpProxy: http, httpsProxy: https, noProxy } = config
  const rules = { perMinute }
  const account = (): string => {
    const secret = token.current()
    return secret === undefined ? 'none' : fingerprintOf(secret)
  }
  const budget = watched(
    store === undefined
      ? createMemoryBudget(rules, clock)
      : createStoredBudget({ notes: store.notes, rules, account, clock }),
  )
  const client = createPlatformClient({
    url,
    token: () => token.current()?.reveal(),
    tokenType,
    ca: caFile === undefined ? undefined : readCa(caFile),
    dispatcher: proxiedDispatcher(url, { http: http?.reveal(), https: https?.reveal(), no: noProxy?.join(',') }),
    budget,
    concurrency,
    userAgent: `Pipespan/${version}`,
    clock,
    log,
  })
  return { client, budget }
}

/** What is exported at all. */
export function selectionOf(config: Config): Selection {
  return createSelection({
    projectsInclude: config.projects.include ?? [],
    projectsExclude: config.projects.exclude ?? [],
    refsInclude: config.refs.include ?? [],
    refsExclude: config.refs.exclude ?? [],
    sourcesExclude: config.sources.exclude ?? [],
  })
}

export interface AskingOptions {
  readonly platform: Platform
  readonly config: Config<ProfileName>
  readonly store: Store
  readonly rules: MergeRules
  readonly selection: Selection
  /** Runs have changed. */
  readonly onChange: () => void
  /** Deliveries came into the inbox. */
  readonly onAccepted: () => void
  readonly clock: Clock
  readonly log: Log
}

export interface AskingParts {
  readonly enricher: Enricher
  /** Undefined: nothing is polled. */
  readonly poller: Poller | undefined
  readonly redelivery: Redelivery | undefined
  /** Why the platform gives no answers at this moment. */
  readonly trouble: () => PlatformError | undefined
  start(): void
  /** Ends every request under way. */
  stop(): Promise<void>
}

/** Who asks the platform: enrichment always, the poller and redelivery where they are configured. */
export function createAsking(options: AskingOptions): AskingParts {
  const { platform, config, store, rules, selection, clock, log } = options
  const { client, budget } = platform
  const { runs, enrichment: asking, notes, leases, inbox } = store
  const errors = createErrorThrottle(log)
  const shared = { client, runs, notes, leases, rules, selection, errors, clock, log }
  const enricher = createEnricher({
    ...shared,
    budget,
    queue: asking,
    storeNow: async () => store.now(),
    traceparent: config.traceparent,
    trends: store.views.trends,
    onTriggered: projectId => poller?.hint(projectId),
    onMissed: projectId => poller?.hint(projectId),
    onEnded: projectId => poller?.remember(projectId),
    onChange: options.onChange,
  })
  const { projects = [], groups = [], mine, interval, lookback } = config.poll
  const polls = projects.length + groups.length > 0 || mine
  const poller = polls
    ? createPoller({
        ...shared,
        ...{ projects, groups, ownPipelines: mine, interval, lookback },
        perMinute: config.platform.budget,
        onFound: () => enricher.wake(),
      })
    : undefined
  const { publicUrl } = config
  const redelivery =
    config.redelivery && publicUrl !== undefined
      ? createRedelivery({
          ...shared,
          ...{ inbox, projects, groups, publicUrl },
          profile: profiles[config.platform.profile],
          onAccepted: options.onAccepted,
          onOversize: project => poller?.hurry(project),
        })
      : undefined
  const parts = [enricher, poller, redelivery].filter(part => part !== undefined)
  return {
    enricher,
    poller,
    redelivery,
    trouble: errors.ofPlatform,
    start: () => parts.forEach(part => part.start()),
    stop: async () => {
      await Promise.all(parts.map(part => part.stop()))
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
      'Name a PEM file that this process may read.',
      { cause },
    )
  }
}
