// What the backfills of pipelines and those of features share: the command's options, its result, and the platform.
import { createHash } from 'node:crypto'
import { ConfigError } from '../lib/fault.ts'
import { exitCode } from '../lib/terminal.ts'
import { connectPlatform, type Platform } from '../daemon/platform.ts'
import { systemClock } from '../lib/clock.ts'
import type { EndedBackfill } from '../daemon/feature.ts'
import type { PlatformView } from '../daemon/configuration/platforms.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from '../daemon/profile.ts'
import type { SharedStore } from '../core/store/ports/store.ts'

export interface BackfillCommand {
  /** Unix ms. */
  readonly since: number
  readonly until?: number | undefined
  /** `--since` and `--until` as given: a command with the same text resumes. */
  readonly words: string
  readonly project: readonly string[]
  readonly group: readonly string[]
  /** Also the pipelines that the token's user started, in all projects. */
  readonly mine: boolean
  /** The flag of what a feature reads instead of pipelines. */
  readonly instead?: string | undefined
  /** The name of the platform, if several are configured. */
  readonly platform?: string | undefined
  readonly dryRun: boolean
  readonly deliver: boolean
  /** One JSON object instead of sentences. */
  readonly json: boolean
}

/** The exit code of a backfill, and its result in sentences and as JSON. */
export interface BackfillResult {
  readonly code: number
  readonly text: string
  /** `range` as ISO 8601 in UTC. */
  readonly json: Readonly<Record<string, unknown>>
}

/** The result of one that came to its end. `lines` and `facts`: what only this kind reports, in sentences and as JSON. */
export function endedResult(
  { range, resumed }: Pick<EndedBackfill, 'range' | 'resumed'>,
  { dryRun }: BackfillCommand,
  { isWhole, lines, facts }: Pick<EndedBackfill, 'isWhole' | 'lines' | 'facts'>,
): BackfillResult {
  const [since, until] = [range.since, range.until].map(at => new Date(at).toISOString())
  return {
    code: isWhole ? exitCode.done : exitCode.failed,
    text: [`${since} to ${until}${resumed ? ', resumed' : ''}:`, ...lines].join('\n'),
    json: { since, until, resumed, dryRun, stopped: false, ...facts },
  }
}

/** The result of one that a signal has stopped: a sentence on what it has seen, and the same as JSON. */
export function stoppedResult(seen: string, facts: object): BackfillResult {
  const text = `Stopped. ${seen} Run the same command again to resume.`
  return { code: exitCode.done, text, json: { stopped: true, ...facts } }
}

/** Throws a ConfigError if no platform is configured. */
export function platformOf(view: PlatformView<ProfileName>, store: SharedStore, log: Log): Platform {
  const platform = connectPlatform(view, store, systemClock, log)
  if (platform !== undefined) return platform
  throw new ConfigError(
    'No platform is configured.',
    'Set PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN, with a token that has the scope read_api.',
  )
}

/** The key of a command's progress in the store: the same command has the same key, and resumes. */
export function nameOfCommand(...asked: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 16)
}
