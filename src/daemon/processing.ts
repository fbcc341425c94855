// Starts the intake of deliveries and the settle loop, which takes snapshots of runs.
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createTakeIn, type Delivery, type TakeIn } from '../core/take-in/take-in.ts'
import { createPriceTable } from '../core/take-in/price-table.ts'
import { createSettleLoop, type SettleLoop } from '../core/settle/settle-loop.ts'
import { createSnapshotter, type Snapshotter } from '../core/settle/take-snapshots.ts'
import { normalizeInstance, ofInstance } from '../model/instance.ts'
import { platformViews, type PlatformView } from './configuration/platforms.ts'
import { PayloadError } from '../lib/fault.ts'
import { parseDelivery, type ParseOptions } from '../platform/webhook/parse-delivery.ts'
import { platformNames, profileBy, type Connection } from './connections.ts'
import { profiles, type ProfileName } from './profile.ts'
import type { Parsed } from '../platform/port/webhook.ts'
import { createLoop, requestsGoFirst } from '../lib/loop.ts'
import { selectEvents } from '../platform/webhook/event-selection.ts'
import { version } from '../lib/version.ts'
import { wantedFactsOf } from './platform.ts'
import { withoutVariables } from '../platform/webhook/parse-delivery.ts'
import type { Config } from './configuration/options.ts'
import type { Context } from './context.ts'
import type { LineStep, Notifier, PastDurations } from '../core/store/ports/reporter.ts'
import type { Log } from '../lib/log.ts'
import { eventWait, type EventRules, type EventTaking } from '../core/take-in/events.ts'
import type { MergeRules } from '../core/take-in/merge-observations.ts'
import { startDraining, type Started } from './steps.ts'
import type { Receiving } from './receiving.ts'
import type { ExportParts } from './export.ts'
import type { Selection } from '../core/take-in/selection.ts'

/** The maximum number of jobs in one chunk. That many jobs need about 650 KB of OTLP, far below the limits of backends. */
const chunkSize = 500

/** Returns the merge rules. `enriches`: whether the platform's API is used. */
export function mergeRulesOf(config: Config<ProfileName>, enriches: boolean, steps: readonly LineStep[]): MergeRules {
  const { settle, blockedAfter, silentAfter, staleAfter, enrichDeadline } = config
  const times = { settle, blockedAfter, silentAfter, staleAfter, steps }
  return enriches ? { ...times, enrichDeadline } : times
}

/** Returns the rules for exporting events that do not belong to a pipeline. */
export function eventRulesOf({
  config,
  events,
  queues,
}: Pick<ProcessingContext, 'config' | 'events' | 'queues'>): EventRules {
  return {
    to: queues.flatMap(({ signal, ...rest }) => (signal === 'logs' ? [{ ...rest, signal }] : [])),
    profile: profileBy(config),
    wait: eventWait(config),
    onTaken: () => events.pending.emit(),
  }
}

/** Returns the context with which `takeEvents` stores events that were not reported by a delivery. */
export function takingOf({ store, selection, clock, ...shared }: Taken): EventTaking {
  return { runs: store.runs, selection, rules: eventRulesOf(shared), now: () => clock.now() }
}

interface Taken extends Pick<ProcessingContext, 'config' | 'events' | 'queues' | 'clock' | 'selection'> {
  readonly store: Pick<ProcessingContext['store'], 'runs'>
}

/** The maximum number of projects without a destination that the log names. */
const maxNamed = 50

/** Logs each project that no destination accepts, once per project. */
function createUnroutedLog(log: Log): (project: string) => void {
  const named = new Set<string>()
  return project => {
    if (named.has(project) || named.size >= maxNamed) return
    named.add(project)
    log.warn(
      { project },
      'no destination is configured for this project, so its pipelines are not exported; see destinations[].projects',
    )
  }
}

export function snapshotterOf(processing: ProcessingContext): Snapshotter {
  const { config, events, queues, takesTotals, measure, selection, connections, log } = processing
  const { settle, blockedAfter, staleAfter, enrichDeadline: deadline, traceIds: scheme } = config
  const enriched = new Set(connections.map(({ client }) => client.instance))
  const profile = profileBy(config)
  // If only one platform is configured, a run's instance is not compared with the configured URL, because the platform's webhooks may contain a
  // different address.
  const isSingle = config.platforms.length === 0
  return createSnapshotter({
    rules: {
      settle,
      blockedAfter,
      staleAfter,
      deadline,
      chunkSize,
      rateOf: createPriceTable(config.costs.rules, platformNames(config)),
    },
    family: instance => ({
      ...{ scheme, profile: ofInstance(profile, instance) },
      bridgesWillCome: isSingle ? enriched.size > 0 : enriched.has(instance),
    }),
    selection,
    ...{ to: queues, takesTotals },
    onUnrouted: createUnroutedLog(log),
    steps: processing.lineSteps,
    measure,
    onSnapshot: () => events.pending.emit(),
  })
}

/** Starts the settle loop. `isLast` means that nothing more arrives, so stopping must settle the remaining runs; see `startDraining`. */
export function startSettling(
  { store, events, clock, log }: Context,
  snapshotter: Snapshotter,
  isLast: () => boolean,
): Started<SettleLoop> {
  const { runs, runsPerTransaction: perTransaction } = store
  const settleLoop = createSettleLoop({ runs, perTransaction, snapshotter, clock, log })
  // Runs that were due immediately already have their snapshots. These are sent before the loop searches for other due runs.
  events.processed.on(() => void requestsGoFirst().then(() => settleLoop.wake()))
  events.enriched.on(() => settleLoop.wake())
  return startDraining(settleLoop, 'no run changes any more: take the snapshots that are due', isLast)
}

/** The interval between two searches for quarantined deliveries that should be decoded again, ms. */
const retryInterval = 1_000

/** Starts the intake. From then on, received deliveries are passed to it. */
export function startTakingIn(
  processing: ProcessingContext,
  snapshotter: Snapshotter,
  rules: MergeRules,
  receiving: Pick<Receiving, 'handTo'>,
): Started<TakeIn> {
  const { config, store, events, selection, clock, log } = processing
  const shared = {
    traceparent: config.traceparent,
    events: selectEvents(config.events),
    redactText: createTextRedaction(config.redact ?? []),
    wanted: wantedFactsOf(config),
  }
  const takeIn = createTakeIn({
    ...{ store, rules, snapshotter, selection, version, log },
    parse: parserOf(config, shared),
    redact: withoutVariables,
    events: eventRulesOf(processing),
    steps: processing.lineSteps,
    onChange: () => events.processed.emit(),
    now: () => clock.now(),
  })
  let isUpgraded = false
  const retries = createLoop({
    name: 'quarantine',
    clock,
    log,
    turn: async () => {
      // Each Pipespan version tries once to decode the deliveries that other versions could not decode.
      if (!isUpgraded) await store.quarantine.retryOfOtherVersions(version)
      isUpgraded = true
      return (await takeIn.retryQuarantined()) > 0 ? 0 : retryInterval
    },
  })
  retries.start()
  receiving.handTo(takeIn)
  return {
    part: takeIn,
    why: 'nothing more is received: take in the rest',
    stop: async () => {
      receiving.handTo(undefined)
      await retries.stop()
      await takeIn.drain()
    },
  }
}

/** Returns the delivery parser. With several platforms, a delivery belongs to the instance whose secret verified it. */
function parserOf(
  config: Config<ProfileName>,
  shared: Omit<ParseOptions, 'profile' | 'platform' | 'platformUrl'>,
): (delivery: Delivery) => Parsed {
  const views = platformViews(config)
  const optionsOf = ({ config: { platform } }: PlatformView<ProfileName>): ParseOptions => ({
    ...shared,
    profile: profiles[platform.profile],
    platformUrl: normalizeInstance(platform.url),
  })
  const [first] = views
  if (config.platforms.length === 0 && first !== undefined) {
    const options = optionsOf(first)
    return delivery => parseDelivery(delivery, options)
  }
  const byInstance = new Map(
    views.map(view => {
      const instance = normalizeInstance(view.config.platform.url) ?? ''
      return [instance, { ...optionsOf(view), platform: { name: view.platform, instance } }]
    }),
  )
  return delivery => {
    const options = byInstance.get(normalizeInstance(delivery.instance) ?? '')
    if (options !== undefined) return parseDelivery(delivery, options)
    const { message } = new PayloadError(
      'The delivery does not belong to any configured platform.',
      'List the platform in `platforms`, with the URL that its webhooks report.',
    )
    return { outcome: 'unparseable', reason: message }
  }
}

// The context of the start steps that process deliveries, send requests to a platform, or report conditions.
export interface ProcessingContext extends Context, ExportParts {
  readonly connections: readonly Connection[]
  readonly selection: Selection
  readonly notifier: Notifier
  readonly lineSteps: readonly LineStep[]
  readonly pastDurations: PastDurations
}
