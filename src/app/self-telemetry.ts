// The daemon's own metrics and traces: where they go, as the configuration has it.
import { destinationsOf, type ConfiguredDestination, type ConfiguredTarget } from '../config/destinations.ts'
import { startOwnTelemetry, type OwnTelemetry, type OwnTelemetryOptions } from '../self-telemetry/own-telemetry.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { SelfTarget } from '../self-telemetry/sdk.ts'
import type { Started } from './steps.ts'

/** How long sending the rest may take when the daemon stops, ms. */
const deadline = 5_000

export async function startSelfTelemetry(config: Config, clock: Clock): Promise<Started<OwnTelemetry>> {
  const targets = config.self.telemetry ? selfTargets(config) : undefined
  const own = await startOwnTelemetry({ targets, now: () => clock.now() })
  return { part: own, why: 'nothing more is measured', stop: async () => own.stop(deadline) }
}

/** The endpoint configured for it, without headers and tokens; else the first destination of the pipelines' telemetry, in the same way. */
function selfTargets(config: Config): OwnTelemetryOptions['targets'] {
  const { self, otlp } = config
  const shared = { timeoutMs: otlp.timeout, compression: otlp.compression }
  if (self.otlpEndpoint !== undefined) {
    const base = self.otlpEndpoint.replace(/\/$/, '')
    const target = (signal: string): SelfTarget => ({ ...shared, url: `${base}/v1/${signal}`, headers: () => ({}) })
    return { traces: target('traces'), metrics: target('metrics') }
  }
  const [first] = destinationsOf({
    ...config,
    observability: { ...config.observability, export: ['traces', 'metrics'] },
  })
  const target = (signal: 'traces' | 'metrics'): SelfTarget => {
    const found = first?.targets[signal]
    return found === undefined || first === undefined
      ? { ...shared, url: `http://localhost:4318/v1/${signal}`, headers: () => ({}) }
      : targetOf(first, found)
  }
  return { traces: target('traces'), metrics: target('metrics') }
}

function targetOf({ token }: ConfiguredDestination, target: ConfiguredTarget): SelfTarget {
  const { certificate: caFile, clientCertificate: certFile, clientKey: keyFile } = target.tls
  return {
    url: target.url,
    headers: () => {
      const given = Object.fromEntries([...target.headers()].map(([name, value]) => [name, value.reveal()]))
      const bearer = token.current()
      return bearer === undefined ? given : { ...given, authorization: `Bearer ${bearer.reveal()}` }
    },
    timeoutMs: target.timeout,
    compression: target.compression,
    tls: { caFile, certFile, keyFile },
  }
}
