// Tests the receivers of notifications. `pipespan notify NAME` sends a test message to one of them and prints its response; the doctor checks whether
// all receivers can be reached. Nothing is stored. Addresses are not shown, because they are secrets.
import { randomUUID } from 'node:crypto'
import { createOtlpHttp, dispatcherFor } from '../../core/send/otlp-http.ts'
import { reasonOf } from '../../lib/fault.ts'
import { redact } from '../../lib/secret.ts'
import { reportOf, type Finding } from '../../lib/finding.ts'
import { request } from 'undici'
import type { EventChunk } from '../../model/event.ts'
import { messageAttributes } from './incident.ts'
import { messageKey, messageKind, ownInstance } from '../../model/condition.ts'
import { misuse } from '../../lib/command-line.ts'
import { sentenceOf, verdictOf } from '../../core/send/verdict.ts'
import type { Destination } from '../../core/send/destination.ts'
import { complain, exitCode, print, type Terminal } from '../../lib/terminal.ts'
import { plainLine } from '../../lib/plain-text.ts'

const signal = 'notifications'

export async function notify(name: string, destinations: readonly Destination[], terminal: Terminal): Promise<number> {
  const destination = destinations.find(one => one.name === name)
  const endpoint = destination?.signals.notifications
  if (destination?.encode === undefined || endpoint === undefined) {
    const names = destinations.map(one => one.name).join(', ')
    throw misuse(names === '' ? 'No notifications are configured.' : `There is no ${name}. Use one of: ${names}.`)
  }
  const id = randomUUID()
  const chunk = testMessage(id, Date.now())
  const http = createOtlpHttp(endpoint, destination.proxy, 1)
  try {
    const values = destination.headerValues?.({}, messageKey(testSubject, id))
    const answer = await http.post(destination.encode(chunk), undefined, new AbortController().signal, values)
    const verdict = verdictOf(answer, signal, Date.now())
    if (verdict.as === 'delivered') {
      const remark = verdict.message === undefined ? '' : ` (${plainLine(verdict.message)})`
      print(terminal, `${name} has accepted a test message${remark}.`)
      return exitCode.done
    }
    complain(
      terminal,
      `${name} did not accept a test message: ${plainLine(sentenceOf(verdict))}.\nCheck its url, format and headers.`,
    )
    return exitCode.failed
  } finally {
    await http.close()
  }
}

/** A placeholder for the digest of the subject, because a test message has no subject. */
const testSubject = '0'.repeat(32)

function testMessage(id: string, at: number): EventChunk {
  const { id: ofMessage, incident, text } = messageAttributes
  return {
    ...{ kind: 'event', key: { instance: ownInstance }, trace: { profile: 'generic' } },
    event: {
      ...{ kind: messageKind, name: 'test', severity: 'info', body: 'Test message from Pipespan' },
      attributes: { [ofMessage]: id, [incident]: id, [text]: 'Notifications arrive here.' },
    },
    ...{ at, observedAt: at },
  }
}

const report = reportOf('notifications')
const timeoutMs = 10_000

export async function checkNotifications(destinations: readonly Destination[]): Promise<Finding[]> {
  return Promise.all(destinations.map(check))
}

/**
 * Sends a HEAD request, which has no effect. Any response shows that the receiver can be reached; most receivers respond that they accept only POST.
 */
async function check({ name, signals, proxy }: Destination): Promise<Finding> {
  const endpoint = signals.notifications
  if (endpoint === undefined) return report('skipped', `"${name}" has no address.`)
  const url = new URL(endpoint.url)
  const dispatcher = dispatcherFor(url, { timeoutMs, tls: endpoint.tls }, proxy, 1)
  try {
    const { body } = await request(url, { method: 'HEAD', dispatcher, signal: AbortSignal.timeout(timeoutMs) })
    await body.dump()
    return report('fine', `"${name}" responds. To send a test message: pipespan notify ${name}.`)
  } catch (error) {
    const why = redact(reasonOf(error), [url.href, url.pathname + url.search])
    return report(
      'failure',
      `"${name}" cannot be reached: ${why}.`,
      'Check its url, and the proxies and firewalls in between.',
    )
  } finally {
    await dispatcher.destroy()
  }
}
