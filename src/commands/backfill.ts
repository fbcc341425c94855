// `pipespan backfill`: finds the pipelines of the past, for the daemon to export, or exports them itself.
import { platformNames } from '../daemon/connections.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { backfill, type BackfillProgress } from '../features/backfill/backfill.ts'
import { chosenPlatform, commandLog, requireConfig } from './configuration.ts'
import { complain, print, type Terminal, printJson } from '../lib/terminal.ts'
import { ConfigError } from '../lib/fault.ts'
import {
  endedResult,
  nameOfCommand,
  platformOf,
  stoppedResult,
  type BackfillCommand,
  type BackfillResult,
} from './backfill-command.ts'
import { createSelection } from '../core/take-in/selection.ts'
import type { PlatformView } from '../daemon/configuration/platforms.ts'
import { ownPipelines } from '../core/find/poll-own-pipelines.ts'
import { pollScopeOf } from '../core/find/poll-scope.ts'
import { createPollContext } from '../core/find/poll-context.ts'
import { createProgressLine } from './progress-line.ts'
import { createEvents } from '../daemon/events.ts'
import { encoderOf, exportDestinations } from '../daemon/export.ts'
import { openStore } from '../core/store/open-store.ts'
import { takingOf } from '../daemon/processing.ts'
import { startDaemon } from '../daemon/daemon.ts'
import { systemClock } from '../lib/clock.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { Log } from '../lib/log.ts'
import { features } from '../features.ts'
import { tablesOf, type AskedBackfill, type Backfill, type Feature } from '../daemon/feature.ts'
import type { Platform } from '../daemon/platform.ts'
import type { ProfileName } from '../daemon/profile.ts'
import type { SharedStore } from '../core/store/ports/store.ts'

const signals = ['SIGINT', 'SIGTERM'] as const

export async function backfillCommand(
  terminal: Terminal,
  file: string | undefined,
  command: BackfillCommand,
): Promise<number> {
  const { config } = requireConfig(terminal, file)
  const view = chosenPlatform(config, command.platform)
  const log = commandLog(terminal, config)
  const instead = features.find(one => one.backfill?.flag === command.instead)?.backfill
  const run = instead === undefined ? backfillPipelines : backfillOf(instead)
  const stopping = new AbortController()
  const stop = (): void => stopping.abort(new Error('stopped'))
  for (const name of signals) process.once(name, stop)
  try {
    if (!command.deliver) {
      const store = await openStore(config.store.url, {
        maxSize: config.store.maxSize,
        parts: tablesOf(features),
        encode: encoderOf(config, features),
      })
      try {
        const { code, text, json } = await run(terminal, command, view, store, log, stopping.signal)
        if (command.json) printJson(terminal, json)
        else print(terminal, text)
        return code
      } finally {
        await store.close()
      }
    }
    const daemon = await startDaemon({ config: withoutListeners(config), features: features.map(withoutReaders), log })
    try {
      const { code, text, json } = await run(terminal, command, view, daemon.store, log, stopping.signal)
      if (!command.json) print(terminal, text)
      const isDelivered = !command.dryRun && (await delivered(terminal, command, daemon.store, stopping.signal))
      if (command.json) printJson(terminal, { ...json, delivered: isDelivered })
      return code
    } finally {
      await daemon.stop()
    }
  } finally {
    for (const name of signals) process.off(name, stop)
  }
}

/** Of what a feature reads. When `signal` aborts it, it answers what it has seen so far; the same command resumes. */
function backfillOf({ flag, sources: sourcesOf, run }: Backfill<never>): typeof backfillPipelines {
  return async (terminal, command, view, store, log, signal) => {
    const { config } = view
    const { since, until, words, dryRun, deliver } = command
    const options = config as never
    const sources = sourcesOf(options)
    const { client } = platformOf(view, store, log)
    const line = createProgressLine(terminal, () => systemClock.now())
    let last: Parameters<AskedBackfill['onProgress']> | undefined
    try {
      const asked: AskedBackfill = {
        ...{ name: nameOfCommand(flag, words, sources), dryRun, deliver, signal },
        range: { since, until: until ?? systemClock.now() },
        onProgress: (...progress) => {
          last = progress
          const [share, seen, { requests = 0 }] = progress
          line.show(share, `${seen}, ${requests} requests`)
        },
      }
      // Nothing in this process listens to events: a running daemon polls the store.
      const taking = takingOf({
        ...{ config, store, events: createEvents(), clock: systemClock },
        selection: createSelection(config, platformNames(config)),
        queues: exportDestinations(config, features).queues,
      })
      const ended = await run(options, asked, { client, store, taking })
      return endedResult(ended, command, ended)
    } catch (error) {
      if (!signal.aborted || last === undefined) throw error
      const [, seen, facts] = last
      return stoppedResult(`${seen} seen.`, facts)
    } finally {
      line.end()
      await client.close()
    }
  }
}

async function backfillPipelines(
  terminal: Terminal,
  command: BackfillCommand,
  view: PlatformView<ProfileName>,
  store: SharedStore,
  log: Log,
  signal: AbortSignal,
): Promise<BackfillResult> {
  const { config } = view
  const platform = platformOf(view, store, log)
  const { project, group, dryRun } = command
  const named = project.length + group.length > 0 || command.mine
  const scope = named
    ? pollScopeOf({ projects: project, groups: group, mine: command.mine, crossProject: false })
    : pollScopeOf(config.poll)
  if (scope.description === undefined) {
    throw new ConfigError('No project is given.', 'Use --project, --group or --mine, or set PIPESPAN_POLL_GROUPS.')
  }
  const now = (): number => systemClock.now()
  const { blockedAfter, staleAfter } = config
  const context = createPollContext({
    client: platform.client,
    runs: store.runs,
    selection: createSelection(config, platformNames(config)),
    rules: { blockedAfter, staleAfter },
    source: 'backfill',
    signal,
    clock: systemClock,
  })
  const line = createProgressLine(terminal, now)
  const shower = progressShower(platform, line, now)
  complain(terminal, warning)
  let last: BackfillProgress | undefined
  try {
    const summary = await backfill({
      context,
      backfills: store.repositories.backfills,
      runs: store.runs,
      name: nameOfCommand(command.words, scope, ...(view.groups.length > 0 ? [view.name] : [])),
      range: { since: command.since, until: command.until ?? now() },
      ...{ scope, dryRun, now },
      onProgress: progress => {
        last = progress
        shower(progress)
      },
    })
    const { projects: read, seen, found, requests, failed } = summary
    return endedResult(summary, command, {
      isWhole: failed.length === 0,
      lines: [
        `${counted(summary)} ${read.all} projects, ${requests} requests.`,
        ...failed.map(({ project: id, reason }) => {
          const what = id === ownPipelines ? "The token's own pipelines were" : `Project ${id} was`
          return `${what} skipped: ${reason}`
        }),
        whatNext(summary, command, config.platform.budget),
      ],
      facts: { projects: read.all, pipelines: seen, new: found, requests, failed },
    })
  } catch (error) {
    if (!signal.aborted) throw error
    return stoppedResult(counted(last), { pipelines: last?.seen ?? 0, new: last?.found ?? 0 })
  } finally {
    line.end()
    await platform.client.close()
  }
}

const warning =
  'Many backends refuse or drop spans with old timestamps: backfill a short range first and check that it arrives.'

/** Shows the progress; reads the API budget once a second at most. */
function progressShower(
  { budget }: Platform,
  line: ReturnType<typeof createProgressLine>,
  now: () => number,
): (progress: BackfillProgress) => void {
  const begun = now()
  let free = ''
  let lookedAt = 0
  return progress => {
    if (now() - lookedAt > 1_000) {
      lookedAt = now()
      void budget
        .snapshot()
        .then(({ available, perMinute, pausedFor }) => {
          free = pausedFor > 0 ? ', rate-limited by the platform' : `, API budget ${available} free of ${perMinute}/min`
        })
        .catch(() => undefined)
    }
    const { projects, seen, found } = progress
    const share = projects.all === 0 ? undefined : projects.done / projects.all
    const seconds = (now() - begun) / 1000
    const rate = seconds < 1 ? '' : `, ${(seen / seconds).toFixed(1)}/s`
    const left = share === undefined || seconds < 2 ? '' : `, ${minutes((seconds / share) * (1 - share))} left`
    const words = `${projects.done} of ${projects.all} projects, ${seen} pipelines (${found} new)${rate}${left}${free}`
    line.show(share, words)
  }
}

function whatNext({ found }: BackfillProgress, { dryRun, deliver }: BackfillCommand, perMinute: number): string {
  if (dryRun) {
    // For each pipeline: itself, its jobs, its bridges. It takes longer while others use the budget, too.
    const needed = found * 3
    return `Nothing was written. Fetching their details takes about ${needed} requests: at least ${minutes((needed / perMinute) * 60)}.`
  }
  if (found === 0) return 'Nothing to export.'
  return deliver
    ? 'They are exported now.'
    : 'The running daemon fetches their details and exports them; without a daemon, use `--deliver`.'
}

function counted(progress: BackfillProgress | undefined): string {
  return `${progress?.seen ?? 0} pipelines seen, ${progress?.found ?? 0} of them not exported yet.`
}

function minutes(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}

/** For the same: what features read of platforms is none of its business. */
function withoutReaders({ perToken: _, ...feature }: Feature): Feature {
  return feature
}

/** For a daemon that only processes and exports: listeners on ports that nobody knows, no discovery. */
function withoutListeners(config: Config<ProfileName>): Config<ProfileName> {
  const closed = { host: '127.0.0.1', port: 0 }
  const nothing = { projects: [], groups: [], mine: false, crossProject: false }
  return {
    ...config,
    listen: closed,
    admin: { ...config.admin, listen: closed },
    poll: { ...config.poll, ...nothing },
    platforms: config.platforms.map(one => ({ ...one, poll: { ...one.poll, ...nothing } })),
    redelivery: false,
    watchHooks: false,
  }
}

/** Waits until what was found has its details, is settled and sent; false where it was stopped before. */
async function delivered(
  terminal: Terminal,
  { json }: BackfillCommand,
  store: SharedStore,
  signal: AbortSignal,
): Promise<boolean> {
  const line = createProgressLine(terminal, () => systemClock.now())
  for (let calm = 0; calm < 2 && !signal.aborted;) {
    const { due } = await store.enrichment.count('backfill')
    const settling = ((await store.runs.dueIn()) ?? Infinity) < 60_000
    const pending = (await store.outbox.queues()).reduce((sum, queue) => sum + queue.pending, 0)
    calm = due === 0 && !settling && pending === 0 ? calm + 1 : 0
    line.show(undefined, `${due} pipelines to fetch, ${pending} exports to send`)
    await sleep(500, undefined, { signal }).catch(() => undefined)
  }
  line.end()
  const { aborted } = signal
  if (!json) print(terminal, aborted ? 'Stopped: unsent exports stay pending in the store.' : 'Everything is exported.')
  return !aborted
}
