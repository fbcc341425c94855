// `pipespan notify NAME`: sends a test message to one receiver of notifications, and says what it answers. Nothing is stored.
import { randomUUID } from 'node:crypto'
import { createOtlpHttp } from '../../core/send/otlp-http.ts'
import { exitCode } from '../../lib/terminal.ts'
import type { EventChunk } from '../../model/event.ts'
import { messageAttributes } from './incident.ts'
import { messageKey, messageKind, ownInstance } from '../../model/condition.ts'
import { misuse } from '../../lib/command-line.ts'
import { sentenceOf, verdictOf } from '../../core/send/verdict.ts'
import type { Destination } from '../../core/send/destination.ts'
import { complain, print, type Terminal } from '../../lib/terminal.ts'
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

/** In place of what a message is about. */
const testSubject = '0'.repeat(32)

function testMessage(id: string, at: number): EventChunk {
  const { id: ofMessage, incident, text } = messageAttributes
  return {
    ...{ kind: 'event', key: { instance: ownInstance }, trace: { profile: 'generic' } },
    event: {
      ...{ kind: messageKind, name: 'test', severity: 'info', body: 'Test message of Pipespan' },
      attributes: { [ofMessage]: id, [incident]: id, [text]: 'Notifications arrive here.' },
    },
    ...{ at, observedAt: at },
  }
}
