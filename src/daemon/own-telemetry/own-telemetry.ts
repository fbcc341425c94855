// The daemon's own metrics and traces: collected for `/metrics`, and exported by the OpenTelemetry SDK if that is configured.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { createMeters } from './meters.ts'
import { createScrape, localProvider } from './scrape.ts'
import { createWatch, type Watch } from './watch.ts'
import { startSelfSdk, type SelfSettings, type SelfTarget } from './sdk.ts'
import { version } from '../../lib/version.ts'
import type { Observed } from './observe-parts.ts'
import type { ObservedMetric } from './table.ts'

export interface OwnTelemetry {
  readonly watch: Watch
  /** Sets where observed metrics are read from now on. */
  observe(read: () => Promise<Observed>): void
  collect(): Promise<readonly ScopeMetrics[]>
  stop(deadlineMs: number): Promise<void>
}

export interface OwnTelemetryOptions {
  /** Where to export to; undefined: nowhere, and the OpenTelemetry SDK is not loaded. */
  readonly targets: { readonly traces: SelfTarget; readonly metrics: SelfTarget } | undefined
  /** For that SDK. */
  readonly settings: SelfSettings
  /** Those of features. */
  readonly metrics: readonly ObservedMetric[]
  /** Unix time in milliseconds. */
  readonly now: () => number
}

export async function startOwnTelemetry({
  targets,
  settings,
  metrics,
  now,
}: OwnTelemetryOptions): Promise<OwnTelemetry> {
  const scrape = createScrape()
  const sdk = targets === undefined ? undefined : await startSelfSdk({ ...targets, settings, scrape })
  const provider = sdk?.meters ?? localProvider(scrape)
  let read: (() => Promise<Observed>) | undefined
  const observe = async (): Promise<Observed> => {
    if (read === undefined) throw new Error('the daemon has not started yet')
    return read()
  }
  const meters = createMeters(provider.getMeter('pipespan', version), observe, metrics)
  return {
    watch: createWatch({ meters, tracer: sdk?.tracer, now }),
    observe: reading => {
      read = reading
    },
    collect: async () => scrape.collect(),
    stop: async deadlineMs => sdk?.stop(deadlineMs),
  }
}
