// What is pending for a destination was accepted for the endpoint that it had then. Later its name alone may stand for something else: another backend,
// another tenant. So if the endpoint of a name has changed, its backlog is moved to a queue that nobody sends, until somebody confirms or drops it.
//
// 1. Before anything is sent, each destination's endpoints are compared with the stored ones.
// 2. What is pending for another endpoint is moved: `tempo` to `tempo@1f3c9a2b`, where the second part is the mark of the former endpoint.
// 3. Then the new endpoint is stored. If the process dies before that, the next one finds the rest.
// 4. If the endpoint is the former one again, what was held for it is moved back.
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

/** Rows in one statement. */
const slice = 2_000
/** How often entries that another replica has locked are tried again, and how long each time, ms. */
const locked = { tries: 50, pauseMs: 100 }
const maxFormer = 10

/** To be called before the exporter starts. */
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
            `the endpoint of this destination has changed: what was pending for the one before is held. ${remedyOf(name)}`,
          )
      }
      if (known?.mark !== now.mark) {
        const before = known === undefined ? [] : [{ mark: known.mark, shown: known.shown }, ...known.former]
        await endpoints.put({ ...queue, ...now, former: before.slice(0, maxFormer) })
      }
      const again = await moveAll(outbox, { ...queue, destination: heldName(name, now.mark) }, name)
      if (again > 0)
        log.info({ ...queue, exports: again }, 'this destination has its former endpoint again: what was held is sent')
    }
  }
}

export function remedyOf(name: string): string {
  return `Send it to the new one with \`pipespan held confirm ${name}\`, or drop it with \`pipespan held drop ${name}\`.`
}

export interface HeldBacklog extends ExportQueueState {
  /** The configured name. */
  readonly name: string
  /** The endpoint that it was for; undefined if that is unknown or a secret. */
  readonly before?: string | undefined
}

/** `name`: of one destination. */
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

/** Sends them to the endpoint that their destination has now. Returns how many. */
export async function confirmHeld(outbox: HoldOptions['outbox'], held: readonly HeldBacklog[]): Promise<number> {
  let moved = 0
  for (const { destination, signal, name } of held) moved += await moveAll(outbox, { destination, signal }, name)
  return moved
}

async function moveAll(outbox: HoldOptions['outbox'], queue: ExportQueue, to: string): Promise<number> {
  let sum = 0
  for (let tries = 0; tries < locked.tries;) {
    const moved = await outbox.move(queue, to, slice)
    sum += moved
    if (moved > 0) continue
    if ((await outbox.dueIn(queue)) === undefined) break
    tries += 1
    await pause(locked.pauseMs)
  }
  return sum
}

/** The address of a notification is its credential, which is rotated: only its origin distinguishes receivers, and nothing of it is shown. */
function markOf({ url, isSecret = false }: Endpoint): { readonly mark: string; readonly shown: string } {
  const { origin = '', pathname = '' } = URL.parse(url) ?? {}
  const mark = createHash('sha256')
    .update(isSecret ? origin : url)
    .digest('hex')
    .slice(0, 8)
  return { mark, shown: isSecret ? '' : origin + pathname }
}
