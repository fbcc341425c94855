// The check of the observability instance: whether it drops telemetry without a valid token, and whether there is one.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { instanceOf } from './asked-instance.ts'
import type { Surroundings } from '../../daemon/feature.ts'
import type { TokenOptions } from './options.ts'

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
    const without = destinations.filter(({ bearer }) => bearer?.current() === undefined).map(({ name }) => `"${name}"`)
    if (without.length === 0) return report('fine', 'Enforcement is on, and every destination has a token.')
    return report(
      'failure',
      `Enforcement is on, and ${without.join(', ')} has no token: its telemetry is dropped.`,
      'Create one with `pipespan tokens create`, and set it as the destination’s token.',
    )
  } catch (error) {
    return broken(report, 'warning', error)
  }
}
