// Reads the daemon's own metrics when somebody asks for them, without sending them anywhere.
import { MeterProvider, MetricReader, type IMetricReader, type ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources'
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions'
import { version } from '../lib/version.ts'

class ScrapeReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {
    // There is nothing to end.
  }

  protected override async onForceFlush(): Promise<void> {
    // There is nothing to send.
  }
}

export interface Scrape {
  readonly reader: IMetricReader
  /** What the instruments of the reader's provider say now. */
  collect(): Promise<readonly ScopeMetrics[]>
}

export function createScrape(): Scrape {
  const reader = new ScrapeReader()
  return { reader, collect: async () => (await reader.collect()).resourceMetrics.scopeMetrics }
}

/** Of a daemon that sends its own telemetry nowhere: its metrics are for scraping alone. */
export function localProvider(scrape: Scrape): MeterProvider {
  return new MeterProvider({ resource: ownResource(), readers: [scrape.reader] })
}

/** Always `pipespan`: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are about the pipelines' telemetry. */
export function ownResource(): Resource {
  return resourceFromAttributes({ [ATTR_SERVICE_NAME]: 'pipespan', [ATTR_SERVICE_VERSION]: version })
}
