// One run of `pipespan backfill`. It opens the store alongside a running daemon, or starts a daemon that only exports (`--deliver`). Then it reads,
// prints the result, and waits until everything is exported. The first Ctrl-C stops the reading.
import { complain, exitCode, print, printJson, type Terminal } from '../../lib/terminal.ts'
import { createHash } from 'node:crypto'
import { minutes, pipelineReading, type NamedPipelines, type Reading } from './pipelines.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../lib/clock.ts'
import type {
  BackfillRequest,
  Backfill,
  CommandPlatform,
  ConfiguredLine,
  ExportingDaemon,
} from '../../daemon/feature-commands.ts'
import type { Budget } from '../../platform/port/budget.ts'
import type { ExportQueueStatus } from '../../core/send/exporter.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

export interface BackfillCommand extends NamedPipelines {
  /** The start of the time range to read, Unix time in ms. */
  readonly since: number
  readonly until?: number | undefined
  /** The backfill of another feature, such as audit events, if its flag was given. It replaces the pipeline backfill. */
  readonly otherBackfill?: Backfill<never> | undefined
  /** The platform's name, if several platforms are configured. */
  readonly platform?: string | undefined
  readonly dryRun: boolean
  readonly deliver: boolean
  /** Whether the command prints one JSON object instead of sentences. */
  readonly json: boolean
}

interface Result {
  readonly code: number
  readonly text: string
  /** The result as JSON, with `since` and `until` in ISO 8601 format, in UTC. */
  readonly json: Readonly<Record<string, unknown>>
}

const signals = ['SIGINT', 'SIGTERM'] as const

export async function runBackfill(
  { terminal, configured }: ConfiguredLine<unknown>,
  command: BackfillCommand,
): Promise<number> {
  const { platform: chosen, openStore, startExporting } = await configured()
  const platform = chosen(command.platform)
  const reading = readingOf(platform, command)
  const stopping = new AbortController()
  const stop = (): void => stopping.abort(new Error('stopped'))
  for (const name of signals) process.once(name, stop)
  try {
    const daemon = command.deliver && !command.dryRun ? await startExporting() : undefined
    const store = daemon?.store ?? (await openStore())
    try {
      const { code, text, json } = await read(
        terminal,
        command,
        reading,
        platform.connect(store),
        store,
        stopping.signal,
      )
      if (!command.json) print(terminal, text)
      const delivery = daemon && (await delivered(terminal, command, daemon, stopping.signal))
      if (command.json) printJson(terminal, { ...json, ...delivery })
      return delivery !== undefined && delivery.refused > 0 ? exitCode.failed : code
    } finally {
      await (daemon?.stop() ?? store.close())
    }
  } finally {
    for (const name of signals) process.off(name, stop)
  }
}

function readingOf(platform: CommandPlatform, command: BackfillCommand): Reading {
  const { otherBackfill, typedRange } = command
  if (otherBackfill === undefined) return pipelineReading(platform, command)
  const options = platform.config as never
  return {
    identity: [otherBackfill.flag, typedRange, otherBackfill.sources(options)],
    run: async (asked, context) => otherBackfill.run(options, asked, context),
  }
}

/**
 * Reads the items that the command selects, such as pipelines. If `signal` is aborted, it returns the progress so far, and the same command resumes
 * later.
 */
async function read(
  terminal: Terminal,
  { since, until, dryRun, deliver }: BackfillCommand,
  { identity, warning, run }: Reading,
  { client, budget, taking }: ReturnType<CommandPlatform['connect']>,
  store: SharedStore,
  signal: AbortSignal,
): Promise<Result> {
  const line = createProgressLine(terminal, () => systemClock.now())
  const suffixOf = progressSuffix(budget)
  if (warning !== undefined) complain(terminal, warning)
  let last: Parameters<BackfillRequest['onProgress']> | undefined
  try {
    const asked: BackfillRequest = {
      name: createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16),
      range: { since, until: until ?? systemClock.now() },
      ...{ dryRun, deliver, signal },
      onProgress: (...progress) => {
        last = progress
        const [share, seen, { requests = 0 }] = progress
        line.show(share, `${seen}, ${requests} requests${suffixOf(share)}`)
      },
    }
    const { range, resumed, isWhole, lines, facts } = await run(asked, { client, store, taking })
    const [from, to] = [range.since, range.until].map(at => new Date(at).toISOString())
    return {
      code: isWhole ? exitCode.done : exitCode.failed,
      text: [`${from} to ${to}${resumed ? ', resumed' : ''}:`, ...lines].join('\n'),
      json: { since: from, until: to, resumed, dryRun, stopped: false, ...facts },
    }
  } catch (error) {
    if (!signal.aborted || last === undefined) throw error
    const [, seen, facts] = last
    const text = `Stopped. ${seen} seen. Run the same command again to resume.`
    return { code: exitCode.done, text, json: { stopped: true, ...facts } }
  } finally {
    line.end()
    await client.close()
  }
}

/** Returns a function that formats the remaining time and the remaining API budget. The budget is read at most once a second. */
function progressSuffix(budget: Pick<Budget, 'snapshot'>): (share: number | undefined) => string {
  const begun = systemClock.now()
  let free = ''
  let budgetReadAt = 0
  return share => {
    const now = systemClock.now()
    if (now - budgetReadAt > 1_000) {
      budgetReadAt = now
      void budget
        .snapshot()
        .then(({ available, perMinute, pausedFor }) => {
          free = pausedFor > 0 ? ', rate-limited by the platform' : `, API budget ${available} free of ${perMinute}/min`
        })
        .catch(() => undefined)
    }
    const seconds = (now - begun) / 1000
    const isKnown = share !== undefined && share > 0 && seconds >= 2
    return `${isKnown ? `, ${minutes((seconds / share) * (1 - share))} left` : ''}${free}`
  }
}

interface Delivery {
  readonly delivered: boolean
  /** The number of exports that became dead letters meanwhile. */
  readonly refused: number
}

/**
 * Waits until all pipelines that were found have their details, are settled, and have been sent with their job logs and reports. It does not wait for
 * exports that are held or whose destination is not configured, because this daemon does not send them.
 */
async function delivered(
  terminal: Terminal,
  { json }: BackfillCommand,
  { store, exporter, toRead }: ExportingDaemon,
  signal: AbortSignal,
): Promise<Delivery> {
  const line = createProgressLine(terminal, () => systemClock.now())
  const deadBefore = countsOf(await exporter.status()).dead
  for (let calm = 0; calm < 2 && !signal.aborted;) {
    const { due } = await store.enrichment.count('backfill')
    const settling = ((await store.runs.dueIn()) ?? Infinity) < 60_000
    const { pending } = countsOf(await exporter.status())
    const unread = (await toRead()).due
    calm = due === 0 && !settling && pending === 0 && unread === 0 ? calm + 1 : 0
    const others = unread === 0 ? '' : `, ${unread} job logs and reports to read`
    line.show(undefined, `${due} pipelines to fetch${others}, ${pending} exports to send`)
    await sleep(500, undefined, { signal }).catch(() => undefined)
  }
  line.end()
  const { aborted } = signal
  const { dead, unsent } = countsOf(await exporter.status())
  const { later } = await toRead()
  const refused = Math.max(0, dead - deadBefore)
  if (!json)
    print(terminal, aborted ? 'Stopped: unsent exports stay pending in the store.' : arrived(refused, unsent, later))
  return { delivered: !aborted && refused === 0, refused }
}

/** Counts exports. `pending` are those that this daemon sends, `unsent` those that are held or whose destination is not configured. */
function countsOf(queues: readonly ExportQueueStatus[]): { dead: number; pending: number; unsent: number } {
  const counts = { dead: 0, pending: 0, unsent: 0 }
  for (const { state, dead, pending } of queues) {
    counts.dead += dead
    counts[state === 'held' || state === 'unserved' ? 'unsent' : 'pending'] += pending
  }
  return counts
}

function arrived(refused: number, unsent: number, later: number): string {
  return [
    refused === 0
      ? 'Everything is exported.'
      : `Exported, except for ${refused} that a backend refused: see \`pipespan dead-letters list\`.`,
    ...(unsent === 0
      ? []
      : [`Earlier exports stay pending, because their destination has changed or is not configured: ${unsent}.`]),
    ...(later === 0 ? [] : [`Job logs and reports that a daemon reads later: ${later}.`]),
  ].join(' ')
}

/** Shows progress on one line. On a terminal the line is redrawn in place; otherwise a plain line is printed from time to time. */
interface ProgressLine {
  /** Shows the progress. `share`: the completed share from 0 to 1; undefined while unknown. */
  show(share: number | undefined, details: string): void
  /** Ends the line; its last state stays visible. */
  end(): void
}

const barWidth = 24
/** The interval between two redraws, and the interval between two plain lines, ms. */
const redrawInterval = 100
const lineInterval = 10_000

function createProgressLine({ stderr }: Terminal, now: () => number): ProgressLine {
  const inPlace = stderr.isTTY === true
  let shownAt = -Infinity
  let last: string | undefined
  return {
    show: (share, details) => {
      const percent = share === undefined ? '' : `${Math.floor(share * 100)} % `
      last = inPlace ? `${bar(share)} ${percent}${details}` : `${percent}${details}`
      if (now() - shownAt < (inPlace ? redrawInterval : lineInterval)) return
      shownAt = now()
      stderr.write(inPlace ? `\r\u001b[2K${last}` : `${last}\n`)
      if (!inPlace) last = undefined
    },
    end: () => {
      if (last !== undefined) stderr.write(inPlace ? `\r\u001b[2K${last}\n` : `${last}\n`)
      last = undefined
    },
  }
}

function bar(share: number | undefined): string {
  const full = Math.round((share ?? 0) * barWidth)
  return `[${'#'.repeat(full)}${'·'.repeat(barWidth - full)}]`
}
