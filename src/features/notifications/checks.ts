// Checks of notifications: whether their receivers can be reached. No message is sent, and no address is shown: it is a secret.
import { request } from 'undici'
import { dispatcherFor } from '../../core/send/otlp-http.ts'
import { reasonOf } from '../../lib/fault.ts'
import { redact } from '../../lib/secret.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import type { Destination } from '../../core/send/destination.ts'

const report = reportOf('notifications')
const timeoutMs = 10_000

export async function checkNotifications(destinations: readonly Destination[]): Promise<Finding[]> {
  return Promise.all(destinations.map(check))
}

/** HEAD has no effect. Any answer shows that the receiver is there; most of them answer that they only take POST. */
async function check({ name, signals, proxy }: Destination): Promise<Finding> {
  const endpoint = signals.notifications
  if (endpoint === undefined) return report('skipped', `"${name}" has no address.`)
  const url = new URL(endpoint.url)
  const dispatcher = dispatcherFor(url, { timeoutMs, tls: endpoint.tls }, proxy, 1)
  try {
    const { body } = await request(url, { method: 'HEAD', dispatcher, signal: AbortSignal.timeout(timeoutMs) })
    await body.dump()
    return report('fine', `"${name}" answers. To send a test message: pipespan notify ${name}.`)
  } catch (error) {
    const why = redact(reasonOf(error), [url.href, url.pathname + url.search])
    return report(
      'failure',
      `"${name}" cannot be reached: ${why}.`,
      'Check its url, and the proxies and firewalls on the way.',
    )
  } finally {
    await dispatcher.destroy()
  }
}
