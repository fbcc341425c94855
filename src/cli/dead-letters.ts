// `pipespan dead-letters list|show|retry|drop`: what a backend refused for good.
import { complain, exitCode, print, table, type Terminal } from './terminal.ts'
import type { DeadLetter, Outbox } from '../store/ports/outbox.ts'
import type { AnyChunk } from '../model/event.ts'

const shown = 200

export async function deadLettersList(
  exports: Outbox,
  terminal: Terminal,
  options: { json: boolean },
): Promise<number> {
  const letters = await exports.deadLetters(shown)
  if (options.json) {
    print(terminal, JSON.stringify(letters.map(asJson)))
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

/** `render` shows what would be sent, as OTLP/JSON. */
export async function deadLettersShow(
  exports: Outbox,
  terminal: Terminal,
  id: number,
  render: (found: { letter: DeadLetter; chunk: AnyChunk }) => string,
): Promise<number> {
  const found = await exports.deadLetter(id)
  if (found === undefined) return unknown(terminal, id)
  const { letter, chunk } = found
  print(
    terminal,
    [
      `Dead letter ${letter.id}: ${letter.signal} of ${letter.event === undefined ? 'pipeline ' : ''}${subjectOf(letter)} for ${letter.destination}`,
      `Refused ${new Date(letter.settledAt).toISOString()} with ${letter.status === 0 ? 'no answer' : `HTTP ${letter.status}`}: ${letter.error}`,
      '',
      chunk === undefined ? 'Its stored chunk is damaged and cannot be shown.' : render({ letter, chunk }),
    ].join('\n'),
  )
  return exitCode.done
}

type Chosen = readonly number[] | 'all'

export async function deadLettersRetry(exports: Outbox, terminal: Terminal, chosen: Chosen): Promise<number> {
  return change(exports, terminal, chosen, async () => {
    return `${await exports.retryDead(chosen)} pending again. A running daemon sends them within a second.`
  })
}

export async function deadLettersDrop(exports: Outbox, terminal: Terminal, chosen: Chosen): Promise<number> {
  return change(exports, terminal, chosen, async () => `${await exports.dropDead(chosen)} dropped.`)
}

/** All of them or none. */
async function change(
  exports: Outbox,
  terminal: Terminal,
  chosen: Chosen,
  apply: () => Promise<string>,
): Promise<number> {
  const missing = await firstMissing(exports, chosen)
  if (missing !== undefined) return unknown(terminal, missing)
  print(terminal, await apply())
  return exitCode.done
}

async function firstMissing(exports: Outbox, ids: Chosen): Promise<number | undefined> {
  if (ids === 'all') return undefined
  for (const id of ids) if ((await exports.deadLetter(id)) === undefined) return id
  return undefined
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
