// Checks the daemon itself: whether it responds, and whether it accepts the webhook secret in this configuration.
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'undici'
import { Webhook } from 'standardwebhooks'
import { checkDeliveries } from './deliveries.ts'
import { harmlessDelivery } from '../platform.ts'
import { localAddress, whoAnswers } from './who-answers.ts'
import { profiles, type ProfileName } from '../../daemon/profile.ts'
import { reasonOf } from '../../lib/fault.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import type { Config } from '../../daemon/configuration/options.ts'

const timeoutMs = 5_000

const seeLog = 'See its log for the reason.'

export async function checkDaemon(config: Config<ProfileName>): Promise<Finding | readonly Finding[]> {
  const report = reportOf('daemon')
  const scheme = config.tls.certFile === undefined ? 'http' : 'https'
  const base = localAddress(config.listen, { scheme, basePath: config.basePath })
  // The certificate is not verified: it is issued for the host name that the platform uses, not for this machine's own name.
  const dispatcher = new Agent({ connect: { timeout: timeoutMs, rejectUnauthorized: false } })
  const timeouts = { dispatcher, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  try {
    const answerer = await whoAnswers(base, timeouts)
    if (answerer.is === 'nobody') {
      const remedy = 'Start it with `pipespan serve`, or run the doctor where it runs.'
      return report('warning', `No daemon answers at ${base}: ${answerer.reason}.`, remedy)
    }
    if (answerer.is === 'another') {
      const remedy =
        'Stop the other service, or use another address (PIPESPAN_LISTEN, PIPESPAN_TLS_CERT_FILE, PIPESPAN_BASE_PATH).'
      return report('failure', `Something listens at ${base}, but it is not Pipespan: ${answerer.what}.`, remedy)
    }
    if (!answerer.ready) return report('failure', `The daemon at ${base} is not ready: ${answerer.message}`, seeLog)
    const { statusCode, body } = await request(`${base}/webhooks`, {
      ...timeouts,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...credentials(config) },
      body: harmlessDelivery.body,
    })
    await body.dump()
    if (statusCode === 200) {
      const found = report('fine', `The daemon at ${base} is ready and accepts the webhook secret.`, tokenToo(config))
      return [found, ...(await checkDeliveries(config))]
    }
    if (statusCode !== 401)
      return report('warning', `The daemon at ${base} answers a webhook with ${statusCode}.`, seeLog)
    return report(
      'failure',
      `The daemon at ${base} does not accept the webhook secret configured here; it runs with a different one.`,
      'Restart it with this configuration, or configure the same secret here.',
    )
  } catch (error) {
    const what = `The daemon at ${base} is ready, but did not answer a webhook: ${reasonOf(error)}.`
    return report('warning', what, seeLog)
  } finally {
    await dispatcher.close()
  }
}

/** Returns a hint if signatures are verified but no token is configured. */
function tokenToo({ webhook }: Config<ProfileName>): string | undefined {
  if (webhook.signingToken.current() === undefined || webhook.token.current() !== undefined) return undefined
  return (
    'Set PIPESPAN_WEBHOOK_TOKEN too, and set both in the webhooks (`pipespan hooks ensure`): with the token, ' +
    'the daemon rejects other senders before it reads a body.'
  )
}

/** Returns the credentials as the platform sends them: both the token and the signature, if both are configured. */
function credentials({ webhook, platform }: Config<ProfileName>): Record<string, string> {
  const { headerPrefix } = profiles[platform.profile]
  const [token] = webhook.token.current() ?? []
  const [signing] = webhook.signingToken.current() ?? []
  const event = { [`${headerPrefix}Event`]: harmlessDelivery.event }
  const shown = token === undefined ? event : { ...event, [`${headerPrefix}Token`]: token.reveal() }
  if (signing === undefined) return shown
  const id = randomUUID()
  const at = new Date()
  return {
    ...shown,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(signing.reveal()).sign(id, at, harmlessDelivery.body),
  }
}
