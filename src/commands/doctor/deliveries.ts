// Checks whether the daemon rejects the platform's webhooks. The secret on the platform may differ from the configured one, and no check of this
// configuration can detect that.
import { createDispatcher, overviewAt, Unanswered } from '../top.ts'
import { localAddress } from './who-answers.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import type { Config } from '../../daemon/configuration/options.ts'

/** How to fix rejections that are caused by a wrong or missing secret, or by a wrong clock. */
const ofSecrets: Readonly<Record<string, string>> = {
  token:
    'Set the secret token of the webhook to the value of PIPESPAN_WEBHOOK_TOKEN: `pipespan hooks ensure` does that.',
  signature:
    'Set the signing token of the webhook to the value of PIPESPAN_WEBHOOK_SIGNING_TOKEN: `pipespan hooks ensure` does that.',
  timestamp: "Synchronize the platform's clock and this machine's with NTP.",
}

/**
 * The minimum share of rejected deliveries for a warning. A smaller share is probably from strangers, or from the time before the secret was
 * corrected.
 */
const minShare = 0.1

/**
 * The minimum number of rejected deliveries for a warning. A smaller number is probably from scanners: a daemon that has just started may have
 * received more requests from scanners than webhooks.
 */
const minRefusals = 5

/** Reads the counters since the daemon's start from its admin listener. There are no findings if the pages are disabled or cannot be read. */
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
        `Since its start, the daemon has refused ${times} of ${flow.received} deliveries: ${message}`,
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
