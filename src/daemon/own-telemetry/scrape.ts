// Collects the daemon's own metrics on demand, without exporting them.
import { MeterProvider, MetricReader, type IMetricReader, type ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources'
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions'
import { version } from '../../lib/version.ts'

class ScrapeReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {
    // Nothing to shut down.
  }

  protected override async onForceFlush(): Promise<void> {
    // Nothing to flush.
  }
}

export interface Scrape {
  readonly reader: IMetricReader
  /** The current values of all instruments. */
  collect(): Promise<readonly ScopeMetrics[]>
}

export function createScrape(): Scrape {
  const reader = new ScrapeReader()
  return { reader, collect: async () => (await reader.collect()).resourceMetrics.scopeMetrics }
}

/** For a daemon that does not export its own telemetry: metrics can only be scraped. */
export function localProvider(scrape: Scrape): MeterProvider {
  return new MeterProvider({ resource: ownResource(), readers: [scrape.reader] })
}

/** Always `pipespan`, because `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` apply to the telemetry of pipelines. */
export function ownResource(): Resource {
  return resourceFromAttributes({ [ATTR_SERVICE_NAME]: 'pipespan', [ATTR_SERVICE_VERSION]: version })
}
