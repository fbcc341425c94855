// `pipespan backfill --audit`: finds the audit events of a past time range, for the daemon to export. It reads one source after another, oldest
// events first. An interrupted backfill resumes. Events that the daemon has already read are skipped. Afterwards the daemon's cursor covers this
// range, so a second backfill of the range finds nothing.
import {
  auditClient,
  auditTaking,
  fullnessOf,
  lastMinutes,
  maxWindow,
  nameOfSource,
  readWindow,
  type AuditReading,
} from './audit-window.ts'
import { ConfigError } from '../../lib/fault.ts'
import { systemClock } from '../../lib/clock.ts'
import {
  concernsOne,
  endlessListError,
  maxBackfillPages,
  maxPages,
  maxRefusals,
  mayConcernAll,
} from '../../core/find/limits.ts'
import type { CallOptions } from '../../platform/port.ts'
import { auditBackfills, auditCursors, type AuditBackfill, type AuditCursor, type AuditWindow } from './documents.ts'
import type { BackfillRequest, BackfillContext, BackfillResult } from '../../daemon/feature-commands.ts'
import type { AuditOptions } from './options.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'

export interface AuditBackfillOptions extends Pick<BackfillRequest, 'name' | 'range' | 'dryRun'> {
  readonly now: () => number
  /** Maximum number of pages read per source. */
  readonly maxPages?: number | undefined
  readonly client: AuditReading['client']
  readonly call: CallOptions
  readonly repositories: Pick<Repositories, 'of'>
  /** The sources of audit events: `instance`, or groups and projects (`project:…`). */
  readonly sources: readonly string[]
  readonly take: AuditReading['take']
  /** True while the store is full and accepts no more events. */
  readonly isFull: () => Promise<boolean>
  readonly onProgress: (progress: AuditBackfillProgress) => void
}

export interface AuditBackfillProgress extends Pick<BackfillRequest, 'range'> {
  readonly resumed: boolean
  /** The share of the range that has been read, across all sources. It is 1 at the end. */
  readonly share: number
  /** Number of events seen in this run of the command. */
  readonly seen: number
  readonly failed: readonly { readonly source: string; readonly reason: string }[]
  /** True if the backfill stopped because the store is full. Running the same command again resumes it. */
  readonly full: boolean
}

const week = 7 * 24 * 3_600_000

type State = Omit<AuditBackfill, 'instance' | 'name'>

/** Runs a backfill of audit events. Rejects with a PlatformError if it affects every source, or with the reason of the call's aborted signal. */
export async function auditBackfill(options: AuditBackfillOptions): Promise<AuditBackfillProgress> {
  const { client, repositories, range, sources, dryRun, now, maxPages: limit = maxBackfillPages } = options
  const [backfills, cursors] = [repositories.of(auditBackfills), repositories.of(auditCursors)]
  const key = { instance: client.instance, name: options.name }
  const known = await backfills.get(key)
  const resumed = !dryRun && known !== undefined && now() - known.startedAt < week
  let state: State = resumed ? known : { ...range, startedAt: now(), done: [] }
  let seen = 0
  let full = false
  /**
   * The number of rejections since the last source that could be read. They may affect every source, so after a few of them the backfill fails. The
   * first few count only as failures of their own sources.
   */
  let refusals = 0
  const failed: { source: string; reason: string }[] = []

  const take: AuditReading['take'] = async items => {
    if (!dryRun) await options.take(items)
    seen += items.length
  }

  function progress(): AuditBackfillProgress {
    const { since, until, done, reading } = state
    // Progress is measured in whole windows, because within a window the newest event is read first.
    const begun = reading === undefined ? 0 : (reading.since - since) / Math.max(1, until - since)
    const share = sources.length === 0 ? 1 : Math.min(1, (done.length + begun) / sources.length)
    return { range: { since, until }, resumed, share, seen, failed, full }
  }

  async function save(next: State): Promise<boolean> {
    state = next
    if (!dryRun) await backfills.put({ ...next, ...key })
    options.onProgress(progress())
    full = !dryRun && (await options.isFull())
    return !full
  }

  /** Returns false if the backfill must stop. */
  async function readSource(source: string): Promise<boolean> {
    let pages = 0
    const cursor = await cursors.get({ instance: client.instance, source })
    const until = Math.min(state.until, cursor?.since ?? Infinity)
    let window: AuditWindow | undefined = state.reading ?? { since: state.since, recent: [] }
    while (window.since < until) {
      const end = Math.min(until, window.since + maxWindow)
      const marks = new Set(window.recent.map(([id]) => id))
      const done: AuditWindow | undefined = await readWindow(
        { until: end, ...window },
        { client, source, call: options.call, take },
        { isKnown: id => marks.has(id), save: async reading => save({ ...state, reading }) },
      )
      if (done === undefined) return false
      pages += maxPages
      if (done.next !== undefined) {
        if (pages >= limit) throw endlessListError('audit events', pages)
        window = done
        continue
      }
      // Both ends of a window are inclusive, so the next one begins where this one ended.
      const reached: number = done.until ?? end
      window = { since: reached, recent: lastMinutes(done.recent, reached) }
      if (!(await save({ ...state, reading: window }))) return false
    }
    if (!dryRun && cursor !== undefined) await remember(source, until)
    return true
  }

  /** Moves the daemon's cursor back to cover this range, but only if that leaves no gap between the range and the events that the daemon has read. */
  async function remember(source: string, until: number): Promise<void> {
    const of = { instance: client.instance, source }
    await cursors.change(of, cursor => {
      const joins = cursor !== undefined && until >= cursor.since && state.since < cursor.since
      const document: AuditCursor | undefined = joins ? { ...cursor, since: state.since } : cursor
      return { document, result: undefined }
    })
  }

  for (const source of sources) {
    if (state.done.includes(source)) continue
    try {
      if (!(await readSource(source))) return progress()
      refusals = 0
    } catch (error) {
      const mayBeOwn = mayConcernAll(error) && ++refusals < Math.min(maxRefusals, sources.length)
      if (!concernsOne(error) && !mayBeOwn) throw error
      failed.push({ source: nameOfSource(source), reason: error.message })
      // The source is not marked as done. The rejection may affect every source, and then this one must be read again.
      if (mayBeOwn) continue
    }
    const { reading: _, ...rest } = state
    if (!(await save({ ...rest, done: [...state.done, source] }))) return progress()
  }
  if (!dryRun) await backfills.remove(key)
  return progress()
}

export function auditSources({ audit = [] }: AuditOptions): readonly string[] {
  if (audit.length > 0) return audit
  const remedy = 'Set PIPESPAN_AUDIT to instance, or to groups and projects, such as team,project:other/shop.'
  throw new ConfigError('No audit events are configured.', remedy)
}

export async function backfillAudit(
  options: AuditOptions,
  { name, range, dryRun, deliver, signal, onProgress }: BackfillRequest,
  { client, store, taking }: BackfillContext,
): Promise<BackfillResult> {
  let requests = 0
  const report = (share: number, events: number): void =>
    onProgress(share, `${events} audit events`, { events, requests })
  report(0, 0)
  const ended = await auditBackfill({
    ...{ name, range, dryRun, client: auditClient(client, options) },
    call: { priority: 'backfill', signal, onSend: () => void (requests += 1) },
    repositories: store.repositories,
    ...{ sources: auditSources(options), now: () => systemClock.now() },
    take: auditTaking(taking),
    isFull: fullnessOf(store),
    onProgress: ({ share, seen }) => report(share, seen),
  })
  const { seen, failed, full } = ended
  return {
    ...{ range: ended.range, resumed: ended.resumed, isWhole: failed.length === 0 && !full },
    lines: [
      `${seen} audit events seen, ${requests} requests.`,
      ...failed.map(({ source, reason }) => `The audit events of ${source} were skipped: ${reason}`),
      whatNext(ended, dryRun, deliver),
    ],
    facts: { events: seen, requests, failed, full },
  }
}

function whatNext({ seen, full }: AuditBackfillProgress, dryRun: boolean, deliver: boolean): string {
  if (dryRun) return 'Nothing was written.'
  if (full)
    return 'The store is full: raise PIPESPAN_STORE_MAX_SIZE or wait for exports. Run the same command again to resume.'
  if (seen === 0) return 'Nothing new to export.'
  return deliver
    ? 'They are exported now.'
    : 'The running daemon exports the new events; without a daemon, use `--deliver`.'
}
