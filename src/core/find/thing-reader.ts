// Requests the inventory items that features declare, at intervals. The results are stored as gauge points and exported with the other metrics.
//
// 1. Only one replica, the holder of the lease, does the work. It removes items that are no longer configured.
// 2. It requests the due items one after the other. The times of the next rounds are in the store, so that items are not requested again after a
//    restart.
// 3. It stores a result with the time of the next round, or a failure with a retry delay. An older reading stays valid for three rounds.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { Fault, reasonOf, StoreError } from '../../lib/fault.ts'
import {
  knownFor,
  maxPoints,
  type Collected,
  type CollectedEvent,
  type CollectedPoint,
  type Owner,
} from '../../model/inventory.ts'
import { PlatformError, type CallOptions, type ErrorThrottle, type PlatformClient } from '../../platform/port.ts'
import type { Thing } from '../../platform/port/asking.ts'
import type { Clock } from '../../lib/clock.ts'
import type { InventoryState } from '../store/ports/gauge-documents.ts'
import type { Log } from '../../lib/log.ts'
import { inTurns, type RedactText } from '../../lib/text-redaction.ts'
import type { Millis } from '../../model/instant.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Singleton } from './rounds.ts'

export interface ThingReaderOptions {
  readonly things: readonly Thing[]
  readonly instance: string
  /** The key of the reader's state in the store. Default: the instance. */
  readonly scope?: string | undefined
  readonly profile: string
  /** The client of the platform; undefined if no platform is configured. */
  readonly client?: Pick<PlatformClient, 'owner' | 'asking'> | undefined
  readonly repositories: Pick<Repositories, 'inventoryStates' | 'gaugeReadings'>
  readonly lease: Singleton
  readonly errors: ErrorThrottle
  readonly redactText: RedactText
  /** Writes a log record for a collected event. `key` identifies the event, so that its record is written only once. */
  readonly onEvent: (event: CollectedEvent, owner: Owner | undefined, key: string) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

const minute = 60_000
const day = 24 * 60 * minute
/** The delay in ms after the first failure that may be transient. */
const firstPause = 5 * minute
/** The maximum delay in ms after failures that may be transient. */
const maxPause = 60 * minute
/** The maximum and minimum time between two checks for due items, ms. */
const maxCheckInterval = 30_000
const minCheckInterval = 1_000
/**
 * The maximum time in ms until the next round of an inventory item, unless its own interval is longer. If the stored time is later, it was written
 * while the clock was ahead, and the item is due.
 */
const maxAhead = 2 * knownFor

export interface ThingReader extends Loop {
  /** Requests the due inventory items. Returns the time in ms until an item may be due again. */
  turn(): Promise<number>
}

type Known = Pick<InventoryState, 'owner' | 'ownerAt'>

export function createThingReader(options: ThingReaderOptions): ThingReader {
  const { things, instance, profile, client, lease, errors, clock, log } = options
  const { inventoryStates: states, gaugeReadings: readings } = options.repositories
  const closing = new AbortController()
  const call: CallOptions = { priority: 'inside', signal: closing.signal }
  const ask = client?.asking(call)
  const triedSinceStart = new Set<string>()
  /** The owners that have been looked up. All inventory items of the same owner share the result. */
  const owners = new Map<string, { readonly owner: Owner; readonly ownerAt: Millis }>()
  const scope = options.scope ?? instance
  const keyOf = ({ kind, of }: Pick<Thing, 'kind' | 'of'>) => ({ instance: scope, kind, of })
  const nameOf = ({ kind, of }: Pick<Thing, 'kind' | 'of'>): string => `${kind} of ${of}`

  async function turn(): Promise<number> {
    if (things.length === 0 || !(await lease.isMine())) return maxCheckInterval
    await removeUnconfigured()
    for (const thing of things) {
      const [state, now] = await Promise.all([states.get(keyOf(thing)), states.now()])
      if (!isDue(state, now, thing) && !mayBeFixed(thing, state)) continue
      if (closing.signal.aborted || !(await lease.isMine())) return maxCheckInterval
      if ((await round(thing, state, now)) === 'stop') return maxCheckInterval
    }
    const [all, now] = await Promise.all([states.all(), states.now()])
    const next = Math.min(...all.map(({ nextAt }) => nextAt - now))
    return Math.min(maxCheckInterval, Math.max(minCheckInterval, next))
  }

  /**
   * True if an inventory item that the platform denied should be requested again. This happens once after each start, because the operator may have
   * granted a permission before the restart.
   */
  function mayBeFixed(thing: Thing, state: InventoryState | undefined): boolean {
    return state?.refusal?.lasts === true && !triedSinceStart.has(nameOf(thing))
  }

  /** Removes inventory items that are no longer configured, so that they are neither exported nor shown. */
  async function removeUnconfigured(): Promise<void> {
    const wanted = new Set(things.map(nameOf))
    for (const state of await states.all())
      if (state.instance === scope && !wanted.has(nameOf(state)))
        await Promise.all([states.remove(state), readings.remove({ ...state, instance })])
  }

  async function round(thing: Thing, before: InventoryState | undefined, now: Millis): Promise<'go-on' | 'stop'> {
    let known: Known = {}
    try {
      known = await ownerOf(thing, before, now)
      const collected = await thing.collect({ ask, owner: known.owner, now, memory: before?.memory })
      await store(thing, before, known, await cleanCollected(collected, options.redactText))
      errors.answered(nameOf(thing))
      return 'go-on'
    } catch (error) {
      if (closing.signal.aborted) return 'stop'
      if (error instanceof StoreError) throw error
      const refusal = asPlatformError(error)
      await storeFailure(thing, { ...before, ...known }, refusal)
      return errors.failed(nameOf(thing), refusal)
    } finally {
      triedSinceStart.add(nameOf(thing))
    }
  }

  async function ownerOf(thing: Thing, before: InventoryState | undefined, now: Millis): Promise<Known> {
    if (thing.owner === undefined || client === undefined) return {}
    const isFresh = ({ ownerAt = -Infinity }: Known): boolean => Math.abs(now - ownerAt) < knownFor
    if (before?.owner !== undefined && isFresh(before)) return { owner: before.owner, ownerAt: before.ownerAt }
    const { as, named } = thing.owner
    const known =
      (as === 'groups' ? undefined : owners.get(`project ${named}`)) ??
      (as === 'projects' ? undefined : owners.get(`group ${named}`))
    if (known !== undefined && isFresh(known)) return known
    const found = { owner: await client.owner(thing.owner, call), ownerAt: now }
    owners.set(`${found.owner.project === undefined ? 'group' : 'project'} ${named}`, found)
    return found
  }

  async function store(
    thing: Thing,
    before: InventoryState | undefined,
    { owner, ownerAt }: Known,
    { points: allPoints, events = [], memory, continueInMs, problem, omitted: unread = 0 }: Collected,
  ): Promise<void> {
    const { kind, of, every } = thing
    const points = allPoints.slice(0, maxPoints)
    const omitted = unread + allPoints.length - points.length
    if (omitted > 0 && (before?.omitted ?? 0) === 0)
      log.warn({ kind, of, omitted }, 'the inventory has more points than the export limit; the rest is omitted')
    if (problem !== undefined && problem !== before?.refusal?.message) log.warn({ kind, of }, problem)
    // Events are exported before the state is saved. If the process dies in between, they are exported again with the same keys.
    for (const event of events) await options.onEvent(event, owner, JSON.stringify([instance, kind, of, event.key]))
    const now = await states.now()
    if (continueInMs === undefined) {
      const whose = owner?.project === undefined ? { group: owner?.group?.path } : { project: owner.project }
      await readings.put({ instance, kind, of, profile, at: now, goodFor: goodFor(every), points, ...whose })
    }
    await states.put({
      ...{ ...keyOf(thing), owner, ownerAt, memory, failures: 0 },
      ...(problem !== undefined && { refusal: { message: problem, lasts: false } }),
      omitted: continueInMs === undefined ? omitted : before?.omitted,
      answeredAt: continueInMs === undefined ? now : before?.answeredAt,
      nextAt: now + (continueInMs ?? every),
    })
  }

  async function storeFailure(thing: Thing, before: Partial<InventoryState>, error: PlatformError): Promise<void> {
    const now = await states.now()
    const failures = (before.failures ?? 0) + 1
    const nextAt = now + pauseAfter(error, failures, thing)
    const refusal = { status: error.status, message: error.message, lasts: isLasting(error) }
    await states.put({ ...before, ...keyOf(thing), failures, nextAt, refusal })
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

function isDue(state: InventoryState | undefined, now: Millis, { every }: Pick<Thing, 'every'>): boolean {
  return state === undefined || state.nextAt <= now || state.nextAt > now + Math.max(maxAhead, every)
}

/** Returns the delay in ms before an inventory item is requested again. `failures` is the number of consecutive failed rounds, including this one. */
function pauseAfter(error: PlatformError, failures: number, { every, isBlockable = false }: Thing): number {
  if (isLasting(error)) return Math.max(day, every)
  const doubled = 2 ** Math.min(20, failures - 1)
  if (isBlockable) return Math.min(Math.max(every, firstPause) * doubled * 2, day)
  return Math.min(Math.min(every, firstPause) * doubled, Math.max(every, maxPause))
}

/** True for errors that last until a role, a tier or a setting is changed. */
function isLasting({ kind }: PlatformError): boolean {
  return kind === 'forbidden' || kind === 'not-found' || kind === 'refused' || kind === 'unexpected-answer'
}

/** The time in ms for which a reading is valid: three rounds and ten minutes, so that a failed round leaves no gap. */
function goodFor(every: number): number {
  return 3 * every + 10 * minute
}

/** Converts any error into a PlatformError. An unexpected error concerns only one inventory item, and the others must continue. */
function asPlatformError(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error
  if (error instanceof Fault) {
    const what = error.message.slice(0, -error.remedy.length).trim()
    return new PlatformError({ kind: 'unavailable', what, remedy: error.remedy })
  }
  const what = `A response of the platform could not be decoded (${reasonOf(error)}).`
  return new PlatformError({
    kind: 'unexpected-answer',
    what,
    remedy: 'Please report this, with the version of the platform.',
  })
}

/**
 * Redacts the names and descriptions of inventory items before they are stored or exported. Each distinct string is redacted only once, and the event
 * loop can do other work between two strings.
 */
export async function cleanCollected(collected: Collected, redactText: RedactText): Promise<Collected> {
  const redact = inTurns(redactText)
  const known = new Map<string, string>()
  const clean = async <T>(value: T): Promise<T> => {
    if (typeof value !== 'string') return value
    const found = known.get(value) ?? (await redact(value))
    known.set(value, found)
    return found as T & string
  }
  const cleanAll = async <T>(attributes: Readonly<Record<string, T>>): Promise<Record<string, T>> => {
    const cleaned: [string, T][] = []
    for (const [key, value] of Object.entries(attributes)) cleaned.push([key, await clean(value)])
    return Object.fromEntries(cleaned)
  }
  const points: CollectedPoint[] = []
  for (const point of collected.points) points.push({ ...point, attributes: await cleanAll(point.attributes) })
  const events: CollectedEvent[] = []
  for (const one of collected.events ?? [])
    events.push({ ...one, body: await clean(one.body), attributes: await cleanAll(one.attributes) })
  return { ...collected, points, events: collected.events && events }
}
