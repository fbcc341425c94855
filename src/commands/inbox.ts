// `pipespan inbox list|show|retry`: shows and retries deliveries that could not be decoded.
import { plainJson, plainLine } from '../lib/plain-text.ts'
import { complain, exitCode, print, table, type Terminal, printJson } from '../lib/terminal.ts'
import { complainIfCut, type ListOptions } from './list-limit.ts'
import type { Quarantine } from '../core/store/ports/quarantine.ts'

export async function inboxList(
  quarantine: Quarantine,
  terminal: Terminal,
  { json, limit }: ListOptions,
): Promise<number> {
  const [quarantined, count] = await Promise.all([quarantine.list(limit), quarantine.count()])
  complainIfCut(terminal, quarantined.length, count)
  if (json) {
    printJson(terminal, { quarantined: quarantined.map(one => ({ ...one, receivedAt: iso(one.receivedAt) })) })
    return exitCode.done
  }
  print(terminal, `${count} could not be decoded.`)
  if (quarantined.length === 0) return exitCode.done
  const rows = quarantined.map(({ id, receivedAt, event, size, version, reason }) => [
    String(id),
    iso(receivedAt),
    event === '' ? '(no event header)' : event,
    `${size} B`,
    version,
    reason,
  ])
  print(terminal, table([['ID', 'RECEIVED', 'EVENT', 'SIZE', 'VERSION', 'REASON'], ...rows]))
  print(terminal, '\nShow one with `pipespan inbox show ID`; retry with `pipespan inbox retry ID` or `--all`.')
  return exitCode.done
}

export async function inboxShow(quarantine: Quarantine, terminal: Terminal, id: number): Promise<number> {
  const found = await quarantine.show(id)
  if (found === undefined) return unknown(terminal, id)
  const { delivery, body } = found
  print(
    terminal,
    [
      `Delivery ${delivery.id}, received ${iso(delivery.receivedAt)} from ${plainLine(delivery.instance ?? 'an unnamed instance')}`,
      `Event: ${delivery.event === '' ? '(no event header)' : plainLine(delivery.event)}`,
      `Not decodable by version ${delivery.version}: ${plainLine(delivery.reason)}`,
      '',
      readable(body),
    ].join('\n'),
  )
  return exitCode.done
}

export async function inboxRetry(
  quarantine: Quarantine,
  terminal: Terminal,
  ids: readonly number[] | 'all',
): Promise<number> {
  if (ids !== 'all') {
    for (const id of ids) if ((await quarantine.show(id)) === undefined) return unknown(terminal, id)
  }
  const count = await quarantine.retry(ids)
  print(terminal, `${count} will be decoded again. A running daemon does this within a second.`)
  return exitCode.done
}

function unknown(terminal: Terminal, id: number): number {
  complain(terminal, `There is no delivery ${id} in quarantine. See \`pipespan inbox list\`.`)
  return exitCode.failed
}

/** Formats a body: JSON is indented, and anything else is shown as text with visible control characters. */
function readable(body: Uint8Array): string {
  const text = Buffer.from(body).toString('utf8')
  try {
    return plainJson(JSON.stringify(JSON.parse(text), undefined, 2))
  } catch {
    return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
  }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
