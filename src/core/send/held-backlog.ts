// Entries that are pending for a destination were accepted for the endpoint it had at that time. Later its name may refer to another backend or
// another tenant. So if a destination's endpoint has changed, its backlog is moved to a queue that is not sent, until an operator confirms or drops
// it.
//
// 1. Before anything is sent, each destination's endpoints are compared with the stored ones.
// 2. The entries that are pending for another endpoint are moved, for example from `tempo` to `tempo@1f3c9a2b`, where the suffix is a hash of the
//    former endpoint.
// 3. Then the new endpoint is stored. If the process dies before that, the next process moves the remaining entries.
// 4. If the former endpoint is configured again, the entries that were held for it are moved back.
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { heldFor, heldName } from '../../model/route.ts'
import type { Destination, Endpoint } from './destination.ts'
import type { ExportQueue, ExportQueueState, Outbox, Signal } from '../store/ports/outbox.ts'
import type { Log } from '../../lib/log.ts'
import type { Repository, ExportEndpoint } from '../store/ports/repository.ts'

export interface HoldOptions {
  readonly destinations: readonly Pick<Destination, 'name' | 'signals'>[]
  readonly outbox: Pick<Outbox, 'move' | 'dueIn'>
  readonly endpoints: Pick<Repository<ExportEndpoint, 'destination' | 'signal'>, 'get' | 'put'>
  readonly log: Log
}

/** The number of rows moved by one statement. */
const rowsPerMove = 2_000
/** The number of attempts to move entries that another replica has locked, and the pause in ms between two attempts. */
const lockedRetries = { tries: 50, pauseMs: 100 }
const maxFormer = 10

/** Holds the backlogs of changed endpoints. It must be called before the exporter starts. */
export async function holdForeignBacklogs({ destinations, outbox, endpoints, log }: HoldOptions): Promise<void> {
  for (const { name, signals } of destinations) {
    for (const [key, endpoint] of Object.entries(signals)) {
      const queue: ExportQueue = { destination: name, signal: key as Signal }
      const known = await endpoints.get(queue)
      const now = markOf(endpoint)
      if (known !== undefined && known.mark !== now.mark) {
        const exports = await moveAll(outbox, queue, heldName(name, known.mark))
        if (exports > 0)
          log.warn(
            { ...queue, exports, before: known.shown, now: now.shown },
            `the endpoint of this destination has changed; exports that were pending for the previous endpoint are held. ${remedyOf(name)}`,
          )
      }
      if (known?.mark !== now.mark) {
        const before = known === undefined ? [] : [{ mark: known.mark, shown: known.shown }, ...known.former]
        await endpoints.put({ ...queue, ...now, former: before.slice(0, maxFormer) })
      }
      const again = await moveAll(outbox, { ...queue, destination: heldName(name, now.mark) }, name)
      if (again > 0)
        log.info(
          { ...queue, exports: again },
          'this destination has its previous endpoint again; held exports are sent',
        )
    }
  }
}

export function remedyOf(name: string): string {
  return `Send them to the new endpoint with \`pipespan held confirm ${name}\`, or drop them with \`pipespan held drop ${name}\`.`
}

export interface HeldBacklog extends ExportQueueState {
  /** The configured name of the destination. */
  readonly name: string
  /** The endpoint for which the backlog was accepted; undefined if it is unknown or a secret. */
  readonly before?: string | undefined
}

/** If `name` is set, returns only the backlogs of that destination. */
export async function heldBacklogs(
  outbox: Pick<Outbox, 'queues'>,
  endpoints: Pick<HoldOptions['endpoints'], 'get'>,
  name?: string,
): Promise<HeldBacklog[]> {
  const held: HeldBacklog[] = []
  for (const queue of await outbox.queues()) {
    const { destination, signal, pending } = queue
    const of = heldFor(destination)
    if (of === undefined || pending === 0 || (name !== undefined && of !== name)) continue
    const known = await endpoints.get({ destination: of, signal })
    const before = known?.former.find(({ mark }) => heldName(of, mark) === destination)?.shown
    held.push({ ...queue, name: of, before: before === '' ? undefined : before })
  }
  return held
}

/** Confirms held backlogs: their entries will be sent to the current endpoint of their destination. Returns the number of entries. */
export async function confirmHeld(outbox: HoldOptions['outbox'], held: readonly HeldBacklog[]): Promise<number> {
  let moved = 0
  for (const { destination, signal, name } of held) moved += await moveAll(outbox, { destination, signal }, name)
  return moved
}

async function moveAll(outbox: HoldOptions['outbox'], queue: ExportQueue, to: string): Promise<number> {
  let sum = 0
  for (let tries = 0; tries < lockedRetries.tries;) {
    const moved = await outbox.move(queue, to, rowsPerMove)
    sum += moved
    if (moved > 0) continue
    if ((await outbox.dueIn(queue)) === undefined) break
    tries += 1
    await pause(lockedRetries.pauseMs)
  }
  return sum
}

/**
 * The URL of a notification endpoint is a credential that may be rotated. Therefore only its origin distinguishes receivers, and no part of it is
 * shown.
 */
function markOf({ url, isSecret = false }: Endpoint): { readonly mark: string; readonly shown: string } {
  const { origin = '', pathname = '' } = URL.parse(url) ?? {}
  const mark = createHash('sha256')
    .update(isSecret ? origin : url)
    .digest('hex')
    .slice(0, 8)
  return { mark, shown: isSecret ? '' : origin + pathname }
}
