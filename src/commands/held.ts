// `pipespan held list|confirm|drop`: shows and changes exports that were pending for a destination when its endpoint changed.
import { complain, exitCode, print, table, type Terminal } from '../lib/terminal.ts'
import { confirmHeld, heldBacklogs } from '../core/send/held-backlog.ts'
import { destinationsOf } from '../daemon/configuration/destinations.ts'
import { features } from '../features.ts'
import { messageDestinations } from '../daemon/export.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { SharedStore } from '../core/store/ports/store.ts'

/** The number of rows that one statement deletes. */
const batchSize = 2_000

export async function heldList(store: SharedStore, terminal: Terminal, { json }: { json: boolean }): Promise<number> {
  const held = await heldBacklogs(store.outbox, store.repositories.exportEndpoints)
  if (json) {
    const rows = held.map(({ name, signal, pending, oldest, before }) => ({
      ...{ destination: name, signal, pending, before },
      oldest: oldest === undefined ? undefined : new Date(oldest).toISOString(),
    }))
    print(terminal, JSON.stringify(rows))
    return exitCode.done
  }
  if (held.length === 0) {
    print(terminal, 'Nothing is held: no endpoint has changed while exports were pending for it.')
    return exitCode.done
  }
  const rows = held.map(({ name, signal, pending, oldest, before = '-' }) => [
    ...[name, signal, String(pending)],
    ...[oldest === undefined ? '-' : new Date(oldest).toISOString(), before],
  ])
  print(terminal, table([['DESTINATION', 'SIGNAL', 'HELD', 'OLDEST', 'WAS FOR'], ...rows]))
  print(
    terminal,
    '\nSend them to the current endpoint with `pipespan held confirm DESTINATION`; discard them with `drop`.',
  )
  return exitCode.done
}

/** Confirms or drops held exports. If the destination rejects a confirmed export when it is sent, the export becomes a dead letter. */
export async function heldChange(
  { store, config }: { readonly store: SharedStore; readonly config: Config },
  terminal: Terminal,
  action: 'confirm' | 'drop',
  name: string,
): Promise<number> {
  const held = await heldBacklogs(store.outbox, store.repositories.exportEndpoints, name)
  if (held.length === 0) {
    complain(terminal, `Nothing is held for ${name}. See \`pipespan held list\`.`)
    return exitCode.failed
  }
  if (action === 'drop') {
    let dropped = 0
    for (const queue of held) {
      for (let rows = -1; rows !== 0; dropped += rows)
        rows = await store.pruning.unserved(queue, Number.MAX_SAFE_INTEGER, batchSize)
    }
    print(terminal, `${dropped} dropped.`)
    return exitCode.done
  }
  const names = [...destinationsOf(config), ...messageDestinations(config, features)].map(one => one.name)
  if (!names.includes(name)) {
    complain(
      terminal,
      `No destination is named ${name}, so there is no endpoint to send to. Configure that destination, or drop its held exports.`,
    )
    return exitCode.failed
  }
  const sent = await confirmHeld(store.outbox, held)
  print(terminal, `${sent} pending again. A running daemon sends them within a second.`)
  return exitCode.done
}
