// Warnings about settings that are allowed, and probably not intended. A sentence each.
import { describeSource, type Source } from './config-fault.ts'
import { hasDefaultDestination } from './destinations.ts'
import { isLoopback, listenAddress } from './address-kinds.ts'
import type { Config } from './options.ts'

/** On loopback no secret is required, but every user and process of the machine can reach the listener. */
export function noSecret({
  config: { listen, webhook, platforms },
  faulty,
  listens,
}: {
  readonly config: Config
  /** Paths of the settings that could not be read. */
  readonly faulty: ReadonlySet<string>
  /** False for commands, which accept no webhooks. */
  readonly listens: boolean
}): string[] {
  // With several platforms a delivery without a secret is refused.
  if (platforms.length > 0) return []
  const unsure = ['listen', 'webhook.token', 'webhook.signing_token'].some(path => faulty.has(path))
  if (unsure || !listens || !isLoopback(listen)) return []
  if (webhook.token.current() !== undefined || webhook.signingToken.current() !== undefined) return []
  return [
    `webhook.token: There is no webhook secret, so any process on this machine can post webhooks to ` +
      `${listenAddress.show(listen)}. Set webhook.signing_token or webhook.token.`,
  ]
}

/** The SDK then uses the second value for both. */
export function exceeding({ self: { sdk } }: Config): string[] {
  const pairs = [
    ['OTEL_METRIC_EXPORT_TIMEOUT', sdk.metricExportTimeout, 'OTEL_METRIC_EXPORT_INTERVAL', sdk.metricExportInterval],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', sdk.bspMaxExportBatchSize, 'OTEL_BSP_MAX_QUEUE_SIZE', sdk.bspMaxQueueSize],
  ] as const
  return pairs
    .filter(([, value, , max]) => value !== undefined && max !== undefined && value > max)
    .map(([name, , other]) => `${name}: It is above ${other}, which applies to both. Lower it, or raise the other.`)
}

export function unusedToken(config: Config, source: Source): string[] {
  if (source.from === 'default' || hasDefaultDestination(config)) return []
  return [
    `${describeSource(source)}: observability.token is only sent to the destination "default", which does not exist. ` +
      'Set otlp.endpoint (OTEL_EXPORTER_OTLP_ENDPOINT), or give destinations their own token_file.',
  ]
}

/** Said plainly, because a leftover `none` looks like a healthy daemon whose backend stays empty. */
export function nothingExported({ observability }: Config, source: Source): string[] {
  if (observability.export.length > 0) return []
  return [
    `${describeSource(source)}: Nothing is exported, pipelines are only shown on the pages. To export, name traces, metrics or logs.`,
  ]
}
