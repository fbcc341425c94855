// Sends requests to the configured observability instance, with a separate connection for each purpose: the gauges, the enforcement state on the
// page, and the doctor check.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { createIngestTokens, type IngestTokens } from './client.ts'
import { dispatcherFor } from '../../core/send/otlp-http.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Gauges, Surroundings } from '../../daemon/feature.ts'
import { bearerTokensOf, type Destination, type Proxies } from '../../core/send/destination.ts'
import type { TokenOptions } from './options.ts'

/** The timeout of one request, ms. */
const timeoutMs = 10_000

export type AskInstance = <T>(question: (instance: IngestTokens) => Promise<T>) => Promise<T>

/** Returns undefined if the observability instance or its API key is not configured. */
export function instanceOf({ observability }: TokenOptions, proxies: Proxies): AskInstance | undefined {
  const { url, apiKey, caFile } = observability
  if (url === undefined || apiKey.current() === undefined) return undefined
  return async question => {
    const dispatcher = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxies, 1)
    try {
      return await question(createIngestTokens({ url, apiKey: () => apiKey.current(), dispatcher, timeoutMs }))
    } finally {
      await dispatcher.destroy()
    }
  }
}

/** Whether the instance drops telemetry without a valid token. `unknown` means that no request was sent yet, or that the instance did not respond. */
export type Enforcement = 'on' | 'off' | 'unknown'

/** How long a response is cached, ms. */
const maxAge = 60_000

/**
 * Returns the enforcement state for the page. The page does not wait: it gets the last known state, and an old state is refreshed in the background.
 * Returns undefined if the observability instance or its API key is not configured.
 */
export function enforcementOf(options: TokenOptions, proxies: Proxies, clock: Clock): (() => Enforcement) | undefined {
  const ask = instanceOf(options, proxies)
  if (ask === undefined) return undefined
  let last: Enforcement = 'unknown'
  let askedAt = -Infinity

  const renew = async (): Promise<void> => {
    try {
      last = (await ask(async instance => instance.enforcement())) ? 'on' : 'off'
    } catch {
      last = 'unknown'
    }
  }

  return () => {
    if (elapsed(clock) - askedAt >= maxAge) {
      askedAt = elapsed(clock)
      void renew()
    }
    return last
  }
}

export async function checkEnforcement(
  options: TokenOptions,
  { destinations, proxies }: Surroundings,
): Promise<Finding> {
  const report = reportOf('enforcement')
  const ask = instanceOf(options, proxies)
  if (ask === undefined) {
    return report('skipped', 'No observability instance is configured (PIPESPAN_OBSERVABILITY_URL and its API key).')
  }
  try {
    const isOn = await ask(async instance => instance.enforcement())
    if (!isOn) return report('fine', 'Enforcement is off: telemetry needs no token.')
    const without = destinations.filter(destination => bearerTokensOf(destination).length === 0)
    // A destination on another host is probably another backend, which needs no ingest token. But some destination must have one.
    const { hostname } = new URL(options.observability.url ?? '')
    const isHere = ({ signals }: Destination): boolean =>
      Object.values(signals).some(({ url }) => new URL(url).hostname === hostname)
    const dropped = without.length === destinations.length ? without : without.filter(isHere)
    if (dropped.length === 0) return report('fine', 'Enforcement is on, and the daemon sends a token.')
    return report(
      'failure',
      `Enforcement is on, and telemetry is dropped because these destinations have no token: ${dropped.map(({ name }) => `"${name}"`).join(', ')}.`,
      'Create one with `pipespan tokens create`, and set it as the destination’s token.',
    )
  } catch (error) {
    return broken(report, 'warning', error)
  }
}

const tokenName = 'platform.ingest.token.name'

export const ingestMetrics: Gauges['metrics'] = [
  {
    name: 'platform.ingest.enforced',
    ...{ unit: '1', number: 'int', attributes: [] },
    description: 'Whether telemetry without a valid ingest token is dropped (1) or accepted (0).',
  },
  {
    name: 'platform.ingest.token.count',
    ...{ unit: '{token}', number: 'int', attributes: [] },
    description: 'Valid ingest tokens.',
  },
  {
    name: 'platform.ingest.token.age',
    ...{ unit: 's', number: 'double', attributes: [tokenName] },
    description: 'Age of the ingest token.',
  },
]

export interface IngestPoint {
  readonly metric: string
  readonly attributes: Readonly<Record<string, string>>
  readonly value: number | { readonly since: number }
}

/** Reads the values of the ingest token gauges with two requests to the observability instance. Rejects with an InstanceError. */
export async function ingestGauges(instance: Pick<IngestTokens, 'list' | 'enforcement'>): Promise<IngestPoint[]> {
  const isEnforced = await instance.enforcement()
  const valid = (await instance.list()).filter(token => token.valid)
  return [
    { metric: 'platform.ingest.enforced', attributes: {}, value: isEnforced ? 1 : 0 },
    { metric: 'platform.ingest.token.count', attributes: {}, value: valid.length },
    ...valid.flatMap(({ id, name = id, createdAt }): IngestPoint[] => {
      if (createdAt === undefined) return []
      return [{ metric: 'platform.ingest.token.age', attributes: { [tokenName]: name }, value: { since: createdAt } }]
    }),
  ]
}
