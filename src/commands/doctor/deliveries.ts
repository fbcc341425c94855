// Whether the daemon refuses the platform's webhooks: the secret there may differ from the one here, which no check of this configuration can see.
import { createDispatcher, overviewAt, Unanswered } from '../top.ts'
import { localAddress } from './who-answers.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import type { Config } from '../../daemon/configuration/options.ts'

/** The refusals that a wrong or missing secret causes, and a wrong clock. */
const ofSecrets: Readonly<Record<string, string>> = {
  token: 'Enter the same secret token in the webhook as here (`pipespan hooks ensure` does).',
  signature: 'Enter the same signing token in the webhook as here (`pipespan hooks ensure` does).',
  timestamp: "Synchronize the platform's clock and this machine's with NTP.",
}

/** Below this share of all deliveries, refused ones are strangers, or from the time before the secret was corrected. */
const minShare = 0.1

/** Fewer refusals are scanners, of which the daemon may have seen more than of the platform if it has just started. */
const minRefusals = 5

/** Counts since the daemon's start, which its admin listener has. Nothing without pages, or if they cannot be read. */
export async function checkDeliveries(config: Config): Promise<readonly Finding[]> {
  const report = reportOf('webhooks')
  const from = localAddress(config.admin.listen, { scheme: 'http', basePath: config.basePath })
  const token = config.admin.token.current()
  const dispatcher = createDispatcher()
  try {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }
    const { flow } = await overviewAt(from, headers, dispatcher)
    const refused = flow.refused.filter(({ reason, count }) => reason in ofSecrets && count > 0)
    const count = refused.reduce((sum, one) => sum + one.count, 0)
    if (count < minRefusals || count < minShare * flow.received) return []
    return refused.map(({ reason, message, count: times }) =>
      report(
        'warning',
        `Since its start the daemon has refused ${times} of ${flow.received} deliveries: ${message}`,
        ofSecrets[reason],
      ),
    )
  } catch (error) {
    if (error instanceof Unanswered) return []
    throw error
  } finally {
    await dispatcher.destroy()
  }
}
