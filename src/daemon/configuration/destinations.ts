// Resolves the OTLP settings into destinations, each with its signals. The `otlp` settings define the destination `default`. It exists if one of
// their endpoints is set, or if no other destination is listed. If other destinations are listed, it gets only the signals that it has an endpoint
// for. The timeout, compression and TLS files of `otlp` apply to all destinations. Headers and bearer tokens are sent only to the destination they
// are set for.
import type { Secret } from '../../lib/secret.ts'
import { signals, type Signal } from './telemetry-options.ts'
import type { Config } from './options.ts'
import type { LiveSecret } from './live-secret.ts'
import type { Headers } from './pair-kinds.ts'

const defaultDestination = 'default'

/** The default endpoint in the OpenTelemetry specification for OTLP over HTTP. */
const defaultEndpoint = 'http://localhost:4318'

export interface ConfiguredDestination {
  readonly name: string
  /** The destination's bearer token. It replaces an `Authorization` header. */
  readonly token: LiveSecret<Secret>
  readonly temporality: 'cumulative' | 'delta'
  /** The projects exported to the destination. If undefined, all projects are. */
  readonly projects?: { readonly include: readonly string[]; readonly exclude: readonly string[] } | undefined
  /** The destination's headers if at least one of them contains a template; otherwise undefined. Always undefined for the destination `default`. */
  readonly templates?: (() => Headers) | undefined
  readonly targets: Readonly<Partial<Record<Signal, ConfiguredTarget>>>
}

export interface ConfiguredTarget {
  readonly url: string
  /** Returns the current headers, with names in lower case. */
  readonly headers: () => Headers
  /** The timeout of one request, ms. */
  readonly timeout: number
  readonly compression: 'gzip' | 'none'
  /** The paths of the PEM files for TLS. */
  readonly tls: {
    readonly certificate: string | undefined
    readonly clientKey: string | undefined
    readonly clientCertificate: string | undefined
  }
}

/** Returns the proxies for requests to other services, in the form that HTTP clients expect. */
export function proxiesOf(config: Pick<Config, 'httpProxy' | 'httpsProxy' | 'noProxy'>): {
  http: string | undefined
  https: string | undefined
  no: string | undefined
} {
  return { http: config.httpProxy?.reveal(), https: config.httpsProxy?.reveal(), no: config.noProxy?.join(',') }
}

/** Returns all destinations that get at least one enabled signal, with `default` first. */
export function destinationsOf(config: Config): ConfiguredDestination[] {
  const { destinations, observability, otlp } = config
  const listed = destinations.map((destination): ConfiguredDestination => {
    const takes = observability.export.filter(signal => destination.signals?.includes(signal) ?? true)
    const headers = (): Headers => destination.headers.current() ?? new Map()
    return {
      name: destination.name,
      token: destination.token,
      projects: projectsOf(destination.projects),
      templates: headers,
      temporality: temporalityOf(destination.temporality ?? otlp.metrics.temporalityPreference),
      targets: targetsOf(takes, signal => ({
        ...sharedSettings(config),
        url: withPath(destination.endpoint, signal),
        headers,
      })),
    }
  })
  const first: ConfiguredDestination = {
    name: defaultDestination,
    token: observability.token,
    temporality: temporalityOf(otlp.metrics.temporalityPreference),
    targets: targetsOf(
      observability.export.filter(signal => defaultTakes(config, signal)),
      signal => ({
        ...sharedSettings(config, signal),
        url: otlp[signal].endpoint ?? withPath(otlp.endpoint ?? defaultEndpoint, signal),
        headers: () => otlp[signal].headers.current() ?? otlp.headers.current() ?? new Map(),
      }),
    ),
  }
  return [first, ...listed].filter(({ targets }) => Object.keys(targets).length > 0)
}

function projectsOf({
  include = [],
  exclude = [],
}: Config['destinations'][number]['projects']): ConfiguredDestination['projects'] {
  return include.length + exclude.length === 0 ? undefined : { include, exclude }
}

export function hasDefaultDestination(config: Config): boolean {
  return signals.some(signal => defaultTakes(config, signal))
}

function defaultTakes({ destinations, otlp }: Config, signal: Signal): boolean {
  return destinations.length === 0 || (otlp[signal].endpoint ?? otlp.endpoint) !== undefined
}

function targetsOf(
  takes: readonly Signal[],
  target: (signal: Signal) => ConfiguredTarget,
): ConfiguredDestination['targets'] {
  return Object.fromEntries(takes.map(signal => [signal, target(signal)]))
}

function sharedSettings({ otlp }: Config, signal?: Signal): Omit<ConfiguredTarget, 'url' | 'headers'> {
  const own = signal === undefined ? undefined : otlp[signal]
  return {
    timeout: own?.timeout ?? otlp.timeout,
    compression: own?.compression ?? otlp.compression,
    tls: {
      certificate: own?.certificate ?? otlp.certificate,
      clientKey: own?.clientKey ?? otlp.clientKey,
      clientCertificate: own?.clientCertificate ?? otlp.clientCertificate,
    },
  }
}

/** In the OpenTelemetry specification, `lowmemory` means delta for counters and histograms. The active runs gauge has no temporality. */
function temporalityOf(preference: 'cumulative' | 'delta' | 'lowmemory'): ConfiguredDestination['temporality'] {
  return preference === 'cumulative' ? 'cumulative' : 'delta'
}

/**
 * Returns the URL for one signal below a base endpoint: `https://x/otlp` and `https://x/otlp/` become `https://x/otlp/v1/traces`, as the
 * OpenTelemetry specification requires.
 */
export function withPath(endpoint: string, signal: Signal): string {
  const url = new URL(endpoint)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal}`
  return url.href
}
