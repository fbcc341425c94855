// Reads the platform's records of deliveries by the daemon's own webhooks, and takes in the failed deliveries.
//
// 1. The newest records come first, and records never change, so each round reads back to the newest record of the previous round.
// 2. A record without an HTTP status (a timeout, a refused connection) counts as failed: such records appear while the daemon is down.
// 3. The failed deliveries of a page are taken in like webhooks. One that has arrived in the meantime is deduplicated by its key.
// 4. The reading position is saved after the last page. If the store is full, it is not saved, and the same records are read again later.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRounds, type RoundsOptions } from './rounds.ts'
import { knownOf } from '../../model/versioned.ts'
import { readingOf, withDurations } from './hook-gauges.ts'
import { unlessRefused } from './limits.ts'
import type {
  CallOptions,
  HookDelivery,
  HookOwner,
  PlatformClient,
  PlatformHook,
  ResourceId,
} from '../../platform/port.ts'
import type { DeliveryHeaders } from '../../platform/port/webhook.ts'
import type { Delivery, TakenIn } from '../take-in/take-in.ts'
import type { Loop } from '../../lib/loop.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { WatchedHook } from '../store/ports/discovery-documents.ts'
import type { Repositories } from '../store/ports/repository.ts'

export interface RedeliveryOptions extends RoundsOptions {
  readonly client: PlatformClient
  readonly take: (delivery: Delivery) => Promise<TakenIn>
  readonly repositories: Pick<Repositories, 'hooks' | 'gaugeReadings'>
  readonly projects: readonly string[]
  readonly groups: readonly string[]
  /** The public URL of the daemon. Webhooks on the platform that post to it, or to a URL below it, are the daemon's own. */
  readonly publicUrl: string
  readonly profile: string
  readonly reads: DeliveryHeaders
  /** The instance of all deliveries, if several platforms are configured. By default the header of each delivery names its instance. */
  readonly instance?: string | undefined
  /** Whether failed deliveries are taken in. If false, webhooks are only read for metrics, with the lowest priority. */
  readonly redelivers: boolean
  /**
   * Called when a delivery was too large for the platform to record, so that its project is polled instead. The project is undefined if it is not
   * known.
   */
  readonly onOversize: (project: string | undefined) => void
}

export interface RedeliveryCounters {
  /** The number of failed deliveries in the platform's records. */
  found: number
  /** The number of failed deliveries that had not arrived in the meantime and were taken in. */
  accepted: number
  oversize: number
}

export interface Redelivery extends Loop {
  readonly counters: Readonly<RedeliveryCounters>
  /** Reads the delivery records of all webhooks once. */
  round(): Promise<void>
}

/** The time between two reads of the delivery records, ms. */
const every = 300_000

export function createRedelivery(options: RedeliveryOptions): Redelivery {
  const { client, profile, reads } = options
  const { hooks, gaugeReadings } = options.repositories
  const projects = new Map<string, ProjectFacts>()
  const counters: RedeliveryCounters = { found: 0, accepted: 0, oversize: 0 }
  const { redelivers } = options
  let isReported = false
  const rounds = createRounds(options)
  const call: CallOptions = { priority: redelivers ? 'poll' : 'inside', signal: rounds.signal }
  const owners: HookOwner[] = [
    ...options.projects.map(project => ({ project })),
    ...options.groups.map(group => ({ group })),
  ]

  async function look(owner: HookOwner): Promise<void> {
    const { items } = await client.hooks(owner, call)
    for (const hook of items) if (isOwn(hook, options.publicUrl)) await lookAt(owner, hook)
  }

  async function lookAt(owner: HookOwner, { id, alertStatus: state, disabledUntil }: PlatformHook): Promise<void> {
    const key = { instance: client.instance, kind: 'project' in owner ? 'project' : 'group', id } as const
    const known = await hooks.get(key)
    const seen = known?.newest ?? 0
    const counted = Math.max(seen, known?.counted ?? 0)
    const readTo = redelivers ? seen : counted
    const answers = { ...known?.answers }
    const seconds: number[] = []
    let newest = counted
    for await (const page of client.hookDeliveries(owner, id, call)) {
      for (const item of page.items) newest = Math.max(newest, item.id)
      const fresh = page.items.filter(item => item.id > readTo)
      // If the store is full, the reading position is not saved, and the same records are read again later.
      if (redelivers && !(await take(owner, fresh.filter(hasFailed)))) return
      const uncounted = fresh.filter(item => item.id > counted)
      for (const one of uncounted) {
        answers[answerOf(one)] = (answers[answerOf(one)] ?? 0) + 1
        if (one.duration !== undefined) seconds.push(one.duration)
      }
      // Delivery metrics start with the first round, so the pages with older delivery records are not read.
      if (fresh.length < page.items.length || (!redelivers && counted === 0)) break
    }
    const of = String('project' in owner ? owner.project : owner.group)
    const hook = await hooks.change(key, (_, now) => {
      const lastDeliveryAt = newest === counted ? known?.lastDeliveryAt : now
      const durations = withDurations(known?.durations, seconds, now)
      const document: WatchedHook = {
        ...key,
        owner: of,
        newest: redelivers ? newest : seen,
        ...(!redelivers && { counted: newest }),
        state,
        disabledUntil,
        lastDeliveryAt,
        durations,
        answers,
      }
      return { document, result: document }
    })
    const project = 'group' in owner ? undefined : await projectOf(owner.project)
    if (project === undefined && !('group' in owner)) return
    const at = await gaugeReadings.now()
    await gaugeReadings.put(
      readingOf(hook, project === undefined ? { group: of } : { project }, { profile, at, goodFor: 3 * every }),
    )
  }

  /** Returns undefined if the token has no permission to read the project; its deliveries are read anyway. */
  async function projectOf(project: ResourceId): Promise<ProjectFacts | undefined> {
    const found = projects.get(String(project)) ?? (await unlessRefused(client.project(project, call)))
    if (found === undefined) return /^\d+$/.test(String(project)) ? { id: Number(project) } : undefined
    const { id, name, path, webUrl, defaultBranch } = found
    const facts = { id, ...knownOf({ name, path, webUrl, defaultBranch }) }
    projects.set(String(project), facts)
    return facts
  }

  async function take(owner: HookOwner, failed: readonly HookDelivery[]): Promise<boolean> {
    const deliveries: Delivery[] = []
    for (const record of failed) {
      const unwanted = reads.unwanted(record.headers, record.body)
      // Without the body, the kind of an event may be unknown although the event is wanted.
      if (unwanted !== undefined && !(record.isOversize && unwanted === 'unknown')) continue
      counters.found += 1
      if (record.isOversize) {
        counters.oversize += 1
        options.onOversize('project' in owner ? String(owner.project) : undefined)
        continue
      }
      // Yields to the event loop before each recorded delivery, because its body may be large.
      await nextTurn()
      const delivery = deliveryOf(record, reads, options.instance)
      if (delivery !== undefined) deliveries.push(delivery)
      else without(owner)
    }
    if (deliveries.length === 0) return true
    const outcomes = await Promise.all(deliveries.map(async delivery => options.take(delivery)))
    counters.accepted += outcomes.filter(outcome => outcome === 'accepted').length
    return !outcomes.includes('full')
  }

  /**
   * Records without a body cannot be delivered again. Instead, the webhook's project is polled, as it is after a delivery that was too large to be
   * recorded.
   */
  function without(owner: HookOwner): void {
    if (!isReported)
      options.log.warn('records of webhook deliveries have no request_data: their projects are polled instead')
    isReported = true
    options.onOversize('project' in owner ? String(owner.project) : undefined)
  }

  async function round(): Promise<void> {
    await rounds.each(owners, async owner => rounds.try(`hooks of ${nameOf(owner)}`, async () => look(owner)))
  }

  return { ...rounds.loop({ every, retry: every }, round), counters, round }
}

function deliveryOf(
  { headers, body }: HookDelivery,
  reads: DeliveryHeaders,
  known: string | undefined,
): Delivery | undefined {
  if (body === undefined) return undefined
  const [key, event, instance] = [
    reads.key(headers, 'sent', known),
    reads.event(headers),
    known ?? reads.instance(headers),
  ]
  return { key, event, instance, source: 'redelivery', body: body() }
}

function nameOf(owner: HookOwner): string {
  return 'project' in owner ? `project ${owner.project}` : `group ${owner.group}`
}

function answerOf({ responseStatus = '' }: HookDelivery): string {
  return /^\d{3}$/.test(responseStatus) ? responseStatus : 'no answer'
}

function hasFailed({ responseStatus }: HookDelivery): boolean {
  return !/^2\d\d$/.test(responseStatus ?? '')
}

/** True if the webhook's address is the daemon's public URL or is below it, with or without a trailing slash. */
function isOwn(hook: PlatformHook, publicUrl: string): boolean {
  const base = publicUrl.replace(/\/+$/, '')
  const url = hook.url.replace(/\/+$/, '').toLowerCase()
  const isBelow = url === base.toLowerCase() || url.startsWith(`${base.toLowerCase()}/`)
  return isBelow || hook.mayBeAt(`${base}/webhooks`)
}
