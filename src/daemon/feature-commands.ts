// What a feature adds to the command line, and the context passed to its commands.
import type { Budget } from '../platform/port/budget.ts'
import type { CommandLine } from '../lib/command-line.ts'
import type { Config } from './configuration/options.ts'
import type { Exporter } from '../core/send/exporter.ts'
import type { EventTaking } from '../core/take-in/events.ts'
import type { Millis } from '../model/instant.ts'
import type { PlatformClient } from '../platform/port.ts'
import type { Secret } from '../lib/secret.ts'
import type { SharedStore } from '../core/store/ports/store.ts'
import type { Surroundings } from './context.ts'

export interface Backfill<Slice> {
  /** The flag's name without dashes: `audit` for `--audit`. */
  readonly flag: string
  /** A noun for the data that the backfill reads. */
  readonly what: string
  /** Returns the sources that the backfill will read. Throws a ConfigError if required options are missing. */
  readonly sources: (options: Slice) => readonly string[]
  /** Runs the backfill. Rejects if the `signal` of its second argument is aborted. */
  readonly run: (options: Slice, asked: BackfillRequest, context: BackfillContext) => Promise<BackfillResult>
}

export interface BackfillRequest {
  /** The key of the stored progress. Running the same command again uses the same key, so it resumes. */
  readonly name: string
  readonly range: { readonly since: Millis; readonly until: Millis }
  readonly dryRun: boolean
  /** Whether this process also exports the data that the backfill finds. */
  readonly deliver: boolean
  readonly signal: AbortSignal
  /**
   * Called with the backfill's progress, for the first time before the first request, because a stopped command prints the latest progress. `share`
   * is undefined while unknown. `seen` describes in words how many items have been read. `facts` contains counts, including the number of `requests`.
   */
  readonly onProgress: (share: number | undefined, seen: string, facts: Readonly<Record<string, number>>) => void
}

export interface BackfillContext {
  readonly client: PlatformClient
  readonly store: SharedStore
  readonly taking: EventTaking
}

/** The result of a backfill, as sentences in `lines` and as JSON in `facts`. */
export interface BackfillResult {
  readonly range: BackfillRequest['range']
  readonly resumed: boolean
  readonly isWhole: boolean
  readonly lines: readonly string[]
  readonly facts: object
}

/** The command line for commands that need the configuration. */
export interface ConfiguredLine<Slice> extends CommandLine {
  /** The features' backfills, which read data other than pipelines. */
  readonly backfills: readonly Backfill<never>[]
  /**
   * Loads the configuration for a command that does not listen on a port. Throws Misconfigured. `mayBeMissing`: whether the file for the secret
   * setting at this path, such as `observability.token`, may be missing.
   */
  readonly configured: (mayBeMissing?: (setting: string) => boolean) => Promise<CommandSurroundings<Slice>>
  /** Opens the configured store for one command, alongside a running daemon. Throws StoreError if there is no store yet. */
  readonly withStore: (command: (store: SharedStore) => Promise<number>) => Promise<number>
}

export interface CommandSurroundings<Slice> extends Surroundings {
  readonly options: Slice
  /** Opens the configured store alongside a running daemon, creating a missing SQLite file. The caller must close it. */
  readonly openStore: () => Promise<SharedStore>
  /** Returns the platform that `--platform` names. The option may be omitted if only one platform is configured. Throws Misconfigured. */
  readonly platform: (name: string | undefined) => CommandPlatform
  /** Starts a daemon that processes and exports the content of the store. It does not read from any platform, and listens on random ports. */
  readonly startExporting: () => Promise<ExportingDaemon>
}

export interface ExportingDaemon {
  readonly store: SharedStore
  readonly exporter: Pick<Exporter, 'status'>
  /** Counts what the daemon still has to read about exported pipelines, such as job logs: what is due, and what was put off. */
  readonly toRead: () => Promise<{ readonly due: number; readonly later: number }>
  readonly stop: () => Promise<unknown>
}

/** A platform with one token. Its configuration contains only this token. */
export interface CommandPlatform {
  readonly name: string
  /** The groups whose projects are read with the token. If empty, the token is used for everything that no other token covers. */
  readonly groups: readonly string[]
  readonly config: Config
  /**
   * Connects to the platform's API, sharing the API budget with all processes that use the store. Throws a ConfigError if no platform is configured.
   * The caller must close the client.
   */
  readonly connect: (store: SharedStore) => {
    readonly client: PlatformClient
    readonly budget: Pick<Budget, 'snapshot'>
    readonly taking: EventTaking
  }
}

/** Manages ingest tokens for `pipespan setup`. The calls reject with a Fault. */
export interface TokenMaker {
  list(): Promise<readonly { readonly id: string; readonly name?: string | undefined }[]>
  create(name: string): Promise<{ readonly value: Secret; readonly id?: string | undefined }>
  revoke(id: string): Promise<unknown>
}
