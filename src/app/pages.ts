// What the pages show and from where: part of the composition root.
import picomatch from 'picomatch'
import { createPages } from '../pages/routes.ts'
import { fingerprintOf } from '../tokens/fingerprint.ts'
import { jobSpanId } from '../telemetry/otlp/ids.ts'
import { refusals, type Refusal } from '../ingress/webhook-refusals.ts'
import { signals } from '../config/otlp-options.ts'
import { toTraces } from '../telemetry/traces.ts'
import { watchEnforcement } from './enforcement.ts'
import { waterfallSpanOf } from '../terminal/waterfall-span.ts'
import type { AskingParts } from './platform.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { Destination } from '../export/destination.ts'
import type { Exporter } from '../export/exporter.ts'
import type { ExportedSpan, Flow, ExportQueueStatus, Setup } from '../pages/ports.ts'
import type { Chunk } from '../model/chunk.ts'
import type { Intake } from '../processing/intake.ts'
import type { Log } from '../lib/log.ts'
import type { MetricFlush } from '../export/metric-flush.ts'
import type { Routes } from '../web/listener.ts'
import type { Snapshotter } from '../processing/take-snapshots.ts'
import type { Store } from '../store/ports/store.ts'
import type { TelemetrySettings } from '../telemetry/settings.ts'
import type { WebhookDoor } from '../ingress/webhook.ts'

export interface PageSources {
  readonly config: Config
  readonly store: Store
  readonly exporter: Exporter
  readonly flush: Pick<MetricFlush, 'status'>
  readonly door: Pick<WebhookDoor, 'counts'>
  /** When the door last accepted something. */
  readonly lastAccepted: () => number | undefined
  readonly intake: Pick<Intake, 'counters'>
  readonly freezer: Pick<Snapshotter, 'counters'>
  /** Who asks the platform; undefined while nobody does. */
  readonly asking: () => AskingParts | undefined
  readonly destinations: readonly Destination[]
  readonly settings: TelemetrySettings
  /** Of the public listener, once it listens. */
  readonly url: () => string | undefined
  readonly clock: Clock
  readonly log: Log
}

/** Undefined: nothing is hidden. */
export function hiddenPaths({ pages }: Pick<Config, 'pages'>): ((path: string) => boolean) | undefined {
  const hidden = pages.hide ?? []
  return hidden.length === 0 ? undefined : picomatch([...hidden], { nocase: true })
}

/** `guarded`: routes that are let through by the same guard. */
export function pagesOf(sources: PageSources, guarded: readonly Routes[]): Routes {
  const { config, store, exporter, flush, settings, clock, log } = sources
  const { views, runs, outbox: exports, inbox, notes, repositories, counters } = store
  const startedAt = clock.now()
  const enforcement = watchEnforcement(config, clock)
  return createPages({
    guarded,
    settings: {
      adminToken: () => config.admin.token.current(),
      traceLink: config.traceLink,
      isHidden: hiddenPaths(config),
    },
    parts: {
      ...{ views, runs, outbox: exports, inbox, notes, repositories, counters, log },
      queues: async () => [...(await exporter.status()), ...flush.status()].sort(byPlace),
      flow: () => flowOf(sources, startedAt),
      exported: parts => parts.flatMap(part => spansOf(part, settings)),
      setup: () => setupOf(sources, enforcement?.()),
      onRetried: () => exporter.wake(),
      now: () => clock.now(),
    },
  })
}

/** The first destination's first, and signals in their usual order. */
function byPlace(a: ExportQueueStatus, b: ExportQueueStatus): number {
  const place = ({ destination }: ExportQueueStatus): string => (destination === 'default' ? '' : destination)
  return place(a).localeCompare(place(b), 'en') || signals.indexOf(a.signal) - signals.indexOf(b.signal)
}

function flowOf({ door, intake, freezer, lastAccepted, asking }: PageSources, startedAt: number): Flow {
  const { received, accepted, duplicate, ignored, refused } = door.counts
  const { processed: understood, unparseable, excluded } = intake.counters
  const { attempts, supplements } = freezer.counters
  return {
    ...{ startedAt, received, accepted, duplicate, ignored: { ...ignored } },
    refused: Object.entries(refused).map(([reason, count]) => ({
      reason,
      count,
      message: refusals[reason as Refusal].message,
    })),
    lastAccepted: lastAccepted(),
    ...{ processed: understood, unparseable, excluded, attempts, supplements },
    apiClients: countsOf(asking()),
    platformError: troubleOf(asking()),
  }
}

function troubleOf(asking: AskingParts | undefined): Flow['platformError'] {
  const error = asking?.trouble()
  return error && { what: error.message.slice(0, -error.remedy.length).trim(), remedy: error.remedy }
}

function countsOf(asking: AskingParts | undefined): Flow['apiClients'] {
  if (asking === undefined) return {}
  const { enricher, poller, redelivery } = asking
  return {
    details: { ...enricher.counters },
    ...(poller === undefined ? {} : { poller: { ...poller.counters } }),
    ...(redelivery === undefined ? {} : { redelivery: { ...redelivery.counters } }),
  }
}

/** The spans as they are sent: made anew, by the same code and from the same frozen part. */
function spansOf(part: Chunk, settings: TelemetrySettings): ExportedSpan[] {
  const jobs = new Map(part.jobs.map(job => [jobSpanId(part, job), job.id]))
  return toTraces(part, settings).map(span => {
    const { traceId, spanId, name, kind, start, end, attributes } = waterfallSpanOf(span)
    return {
      ...{ attempt: part.attempt, name, kind, traceId, spanId, start, end, attributes },
      jobId: jobs.get(spanId),
      resource: span.resource.attributes,
    }
  })
}

function setupOf({ config, destinations, url }: PageSources, enforcement: Setup['enforcement']): Setup {
  const { webhook, platform, observability } = config
  return {
    webhooks: `${config.publicUrl?.replace(/\/+$/, '') ?? url() ?? ''}/webhooks`,
    platform: platform.url,
    hasPlatformToken: platform.token.current() !== undefined,
    hasWebhookSecret: webhook.token.current() !== undefined || webhook.signingToken.current() !== undefined,
    destinations: destinations.map(({ name, signals, bearer }) => {
      const token = bearer?.current()
      return {
        name,
        endpoints: Object.entries(signals).map(([signal, endpoint]) => ({ signal, url: withoutQuery(endpoint.url) })),
        fingerprint: token === undefined ? undefined : fingerprintOf(token),
        tokenFrom: tokenFrom(config, name),
      }
    }),
    observabilityUrl: observability.url,
    enforcement,
  }
}

function tokenFrom(config: Config, name: string): string | undefined {
  const own = config.destinations.find(one => one.name === name)
  const secret = own === undefined ? config.observability.token : own.token
  if (secret.current() === undefined) return undefined
  return secret.path ?? 'a fixed value: a new one needs a restart'
}

/** Some backends take a key as a parameter. */
function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
