// `pipespan dead-letters list|show|retry|drop`: shows and changes exports that a backend permanently rejected.
import { complain, exitCode, print, table, type Terminal, printJson } from '../lib/terminal.ts'
import { plainJson, plainLine } from '../lib/plain-text.ts'
import { messageAsJson } from '../core/send/shown-message.ts'
import { complainIfCut, type ListOptions } from './list-limit.ts'
import type { DeadLetter, Outbox } from '../core/store/ports/outbox.ts'

export async function deadLettersList(
  exports: Outbox,
  terminal: Terminal,
  { json, limit }: ListOptions,
): Promise<number> {
  const [letters, queues] = await Promise.all([exports.deadLetters(limit), exports.queues()])
  const count = queues.reduce((sum, { dead }) => sum + dead, 0)
  complainIfCut(terminal, letters.length, count)
  if (json) {
    printJson(terminal, letters.map(asJson))
    return exitCode.done
  }
  if (letters.length === 0) {
    print(terminal, 'No dead letters: no backend has permanently refused an export.')
    return exitCode.done
  }
  const rows = letters.map(letter => [
    String(letter.id),
    new Date(letter.settledAt).toISOString(),
    letter.destination,
    letter.signal,
    subjectOf(letter),
    letter.status === 0 ? '-' : String(letter.status),
    letter.error,
  ])
  print(
    terminal,
    table([['ID', 'REFUSED', 'DESTINATION', 'SIGNAL', 'PIPELINE OR EVENT', 'STATUS', 'MESSAGE'], ...rows]),
  )
  print(terminal, '\nSend again with `pipespan dead-letters retry ID` or `--all`; discard with `drop`.')
  return exitCode.done
}

export async function deadLettersShow(exports: Outbox, terminal: Terminal, id: number): Promise<number> {
  const found = await exports.deadLetter(id)
  if (found === undefined) return unknown(terminal, id)
  const { letter, body } = found
  const json = messageAsJson(letter.signal, body)
  print(
    terminal,
    [
      `Dead letter ${letter.id}: ${letter.signal} of ${letter.event === undefined ? 'pipeline ' : ''}${subjectOf(letter)} for ${letter.destination}`,
      `Refused ${new Date(letter.settledAt).toISOString()} with ${letter.status === 0 ? 'no answer' : `HTTP ${letter.status}`}: ${plainLine(letter.error)}`,
      '',
      json === undefined ? 'Its stored data is damaged and cannot be shown.' : plainJson(json),
    ].join('\n'),
  )
  return exitCode.done
}

/** Changes either all of the given dead letters or none of them. */
export async function deadLettersChange(
  exports: Outbox,
  terminal: Terminal,
  action: 'retry' | 'drop',
  ids: readonly number[] | 'all',
): Promise<number> {
  if (ids !== 'all') {
    for (const id of ids) if ((await exports.deadLetter(id)) === undefined) return unknown(terminal, id)
  }
  const text =
    action === 'retry'
      ? `${await exports.retryDead(ids)} pending again. A running daemon sends them within a second.`
      : `${await exports.dropDead(ids)} dropped.`
  print(terminal, text)
  return exitCode.done
}

function unknown(terminal: Terminal, id: number): number {
  complain(terminal, `There is no dead letter ${id}. See \`pipespan dead-letters list\`.`)
  return exitCode.failed
}

function subjectOf(letter: DeadLetter): string {
  if (letter.event !== undefined) return `${letter.event} event of ${letter.instance}`
  const attempt = letter.attempt > 1 ? `, attempt ${letter.attempt}` : ''
  const chunk = letter.chunk > 1 ? `, chunk ${letter.chunk}` : ''
  return `${letter.instance} ${letter.pipelineId}${attempt}${chunk}`
}

function asJson(letter: DeadLetter): object {
  return {
    ...letter,
    pendingSince: new Date(letter.pendingSince).toISOString(),
    settledAt: new Date(letter.settledAt).toISOString(),
  }
}
