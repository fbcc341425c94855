// Checks of the observability instance: whether it drops telemetry without a valid token, and whether there is one.
import { broken, reportOf, type Finding } from './finding.ts'
import { createIngestTokens } from '../../features/tokens/client.ts'
import { dispatcherFor } from '../../core/send/otlp-http.ts'
import { proxiesOf } from '../../daemon/configuration/destinations.ts'
import type { Config } from '../../daemon/configuration/options.ts'
import type { Destination } from '../../core/send/destination.ts'

const timeoutMs = 10_000

export async function checkEnforcement(config: Config, destinations: readonly Destination[]): Promise<Finding> {
  const report = reportOf('enforcement')
  const { url, apiKey, caFile } = config.observability
  if (url === undefined || apiKey.current() === undefined) {
    return report('skipped', 'No observability instance is configured (PIPESPAN_OBSERVABILITY_URL and its API key).')
  }
  const dispatcher = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxiesOf(config), 1)
  try {
    const instance = createIngestTokens({ url, apiKey: () => apiKey.current(), dispatcher, timeoutMs })
    if (!(await instance.enforcement())) return report('fine', 'Enforcement is off: telemetry needs no token.')
    const without = destinations.filter(({ bearer }) => bearer?.current() === undefined).map(({ name }) => `"${name}"`)
    if (without.length === 0) return report('fine', 'Enforcement is on, and every destination has a token.')
    return report(
      'failure',
      `Enforcement is on, and ${without.join(', ')} has no token: its telemetry is dropped.`,
      'Create one with `pipespan tokens create`, and set it as the destination’s token.',
    )
  } catch (error) {
    return broken(report, 'warning', error)
  } finally {
    await dispatcher.destroy()
  }
}
