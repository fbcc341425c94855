// Requests the configured inventory from the platform: each item at its own interval, one after the other, by one replica, with the lowest
// priority. The results are stored and exported with the other metrics.
import { createLoop, type Loop } from '../lib/loop.ts'
import { goodFor, isLasting, pauseAfter } from './next-round.ts'
import { Fault, reasonOf, StoreError } from '../lib/fault.ts'
import { knownFor, maxPoints, type Collected, type CollectedEvent, type Owner } from '../model/inventory.ts'
import { PlatformError, type ErrorThrottle } from '../platform/port.ts'
import type { LookUpOwner, Thing } from '../platform/port/inventory.ts'
import type { Clock } from '../lib/clock.ts'
import type { InventoryState } from '../store/ports/inventory-documents.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Repositories } from '../store/ports/repository.ts'

export interface InventoryOptions {
  readonly things: readonly Thing[]
  readonly instance: string
  readonly profile: string
  readonly lookUp: LookUpOwner
  readonly repositories: Pick<Repositories, 'inventoryStates' | 'gaugeReadings'>
  readonly lease: { isMine(): Promise<boolean>; release(): Promise<void> }
  readonly errors: ErrorThrottle
  /** Writes a log record once: `key` identifies it. */
  readonly onEvent: (event: CollectedEvent, owner: Owner | undefined, key: string) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** Between two looks at what is due, ms. */
const maxRest = 30_000
const minRest = 1_000
/** If this many projects are refused permanently, the others are also delayed until the next day. */
const maxRefused = 5
/** A later next time was written under a clock that was ahead, ms. */
const furthest = 2 * knownFor

export interface Inventory extends Loop {
  /** Asks what is due; answers how many ms later something may be due again. */
  turn(): Promise<number>
}

export function createInventory(options: InventoryOptions): Inventory {
  const { things, instance, profile, lease, errors, clock, log } = options
  const { inventoryStates: states, gaugeReadings: readings } = options.repositories
  const closing = new AbortController()
  const askedHere = new Set<string>()
  /** Owners that were looked up, for all things of the same owner. */
  const owners = new Map<string, { readonly owner: Owner; readonly ownerAt: Millis }>()
  const keyOf = ({ kind, of }: Pick<Thing, 'kind' | 'of'>) => ({ instance, kind, of })
  const nameOf = ({ kind, of }: Pick<Thing, 'kind' | 'of'>): string => `${kind} of ${of}`

  async function turn(): Promise<number> {
    if (things.length === 0 || !(await lease.isMine())) return maxRest
    await forgetOthers()
    for (const thing of things) {
      const [state, now] = await Promise.all([states.get(keyOf(thing)), states.now()])
      if (!isDue(state, now) && !mayBeMended(thing, state)) continue
      if (closing.signal.aborted || !(await lease.isMine())) return maxRest
      if ((await round(thing, state, now)) === 'stop') return maxRest
    }
    return rest()
  }

  /** What was refused is tried once after each start: whoever restarted the daemon may have fixed the permission. */
  function mayBeMended(thing: Thing, state: InventoryState | undefined): boolean {
    return state?.refusal?.lasts === true && !askedHere.has(nameOf(thing))
  }

  async function rest(): Promise<number> {
    const [all, now] = await Promise.all([states.all(), states.now()])
    const next = Math.min(...all.map(({ nextAt }) => nextAt - now))
    return Math.min(maxRest, Math.max(minRest, next))
  }

  /** Removes what is no longer configured, so that it is neither sent nor shown. */
  async function forgetOthers(): Promise<void> {
    const wanted = new Set(things.map(nameOf))
    for (const state of await states.all()) {
      if (state.instance !== instance || wanted.has(nameOf(state))) continue
      await Promise.all([states.remove(state), readings.remove(state)])
    }
  }

  async function round(thing: Thing, before: InventoryState | undefined, now: Millis): Promise<'go-on' | 'stop'> {
    let owner: { readonly owner?: unknown; readonly ownerAt?: number } = {}
    try {
      owner = await ownerOf(thing, before, now)
      const round = { now, memory: before?.memory, signal: closing.signal }
      const found = await thing.collect({ owner: owner.owner as Owner | undefined, ...round })
      await keep(thing, before, owner, found)
      errors.answered(nameOf(thing))
      return 'go-on'
    } catch (error) {
      if (closing.signal.aborted) return 'stop'
      if (error instanceof StoreError) throw error
      const refusal = asPlatformError(error)
      await refused(thing, { ...before, ...owner }, refusal)
      return errors.failed(nameOf(thing), refusal)
    } finally {
      askedHere.add(nameOf(thing))
    }
  }

  async function ownerOf(thing: Thing, before: InventoryState | undefined, now: Millis) {
    if (thing.owner === undefined) return {}
    const { owner, ownerAt = -Infinity } = before ?? {}
    if (owner !== undefined && Math.abs(now - ownerAt) < knownFor) return { owner, ownerAt }
    const { as, named } = thing.owner
    const known =
      (as === 'groups' ? undefined : owners.get(`project ${named}`)) ??
      (as === 'projects' ? undefined : owners.get(`group ${named}`))
    if (known !== undefined && Math.abs(now - known.ownerAt) < knownFor) return known
    const found = { owner: await options.lookUp(thing.owner, closing.signal), ownerAt: now }
    owners.set(`${found.owner.project === undefined ? 'group' : 'project'} ${named}`, found)
    return found
  }

  async function keep(
    thing: Thing,
    before: InventoryState | undefined,
    known: { readonly owner?: unknown; readonly ownerAt?: number },
    { points: found, event, memory, goesOnIn, omitted: unread = 0 }: Collected,
  ): Promise<void> {
    const points = found.slice(0, maxPoints)
    const omitted = unread + found.length - points.length
    if (omitted > 0 && (before?.omitted ?? 0) === 0) {
      const { kind, of } = thing
      log.warn({ kind, of, omitted }, 'more of the inventory than is exported: points are left out')
    }
    const owner = known.owner as Owner | undefined
    // Exported before the state is saved: if it is exported again after a kill, its key shows that.
    if (event !== undefined)
      await options.onEvent(event, owner, JSON.stringify([instance, thing.kind, thing.of, event.key]))
    const now = await states.now()
    if (goesOnIn === undefined) {
      const { kind, of, every } = thing
      const whose = owner?.project === undefined ? { group: owner?.group.path } : { project: owner.project }
      const reading = { instance, kind, of, profile, at: now, goodFor: goodFor(every), points }
      await readings.put({ ...reading, ...whose })
    }
    await states.put({
      ...{ ...keyOf(thing), ...known, memory, failures: 0 },
      omitted: goesOnIn === undefined ? omitted : before?.omitted,
      answeredAt: goesOnIn === undefined ? now : before?.answeredAt,
      nextAt: now + (goesOnIn ?? thing.every),
    })
  }

  async function refused(thing: Thing, before: Partial<InventoryState>, error: PlatformError): Promise<void> {
    const now = await states.now()
    const failures = (before.failures ?? 0) + 1
    const pause = pauseAfter(error, failures, thing.every, thing.isBlockable === true)
    const refusal = { status: error.status, message: error.message, lasts: isLasting(error) }
    await states.put({ ...before, ...keyOf(thing), failures, nextAt: now + pause, refusal })
    if (isLasting(error) && (error.isOfTheApi || (await areMany(thing)))) await putOffOthers(thing, now + pause)
  }

  async function areMany({ kind }: Thing): Promise<boolean> {
    const all = await states.all()
    return all.filter(one => one.instance === instance && one.kind === kind && one.refusal?.lasts).length >= maxRefused
  }

  /** The platform does not offer it at all, so the other projects need not be tried. */
  async function putOffOthers({ kind, of }: Thing, nextAt: Millis): Promise<void> {
    for (const other of things.filter(one => one.kind === kind && one.of !== of)) {
      await states.change(keyOf(other), known => {
        // A thing that was answered before is offered.
        if (known?.answeredAt !== undefined) return { document: known, result: undefined }
        return { document: { failures: 0, ...known, ...keyOf(other), nextAt }, result: undefined }
      })
    }
  }

  const loop = createLoop({ name: 'inventory', clock, log, turn })
  return {
    ...loop,
    turn,
    stop: async () => {
      closing.abort(new Error('the daemon stops'))
      await loop.stop()
      await lease.release()
    },
  }
}

function isDue(state: InventoryState | undefined, now: Millis): boolean {
  return state === undefined || state.nextAt <= now || state.nextAt > now + furthest
}

/** An unexpected error of a collector concerns one thing: the others continue. */
function asPlatformError(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error
  if (error instanceof Fault) {
    const what = error.message.slice(0, -error.remedy.length).trim()
    return new PlatformError({ kind: 'unavailable', what, remedy: error.remedy })
  }
  const what = `An answer could not be decoded (${reasonOf(error)}).`
  return new PlatformError({ kind: 'unexpected-answer', what, remedy: 'Report it, with the version of the platform.' })
}
