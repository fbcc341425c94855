// What a feature adds to the command line, and what its commands get.
import type { Budget } from '../platform/port/budget.ts'
import type { CommandLine } from '../lib/command-line.ts'
import type { Config } from './configuration/options.ts'
import type { EventTaking } from '../core/take-in/events.ts'
import type { Millis } from '../model/instant.ts'
import type { PlatformClient } from '../platform/port.ts'
import type { Secret } from '../lib/secret.ts'
import type { SharedStore } from '../core/store/ports/store.ts'
import type { Surroundings } from './context.ts'

export interface Backfill<Slice> {
  /** The flag's name without dashes: `audit` for `--audit`. */
  readonly flag: string
  /** A noun for what it reads. */
  readonly what: string
  /** What it will read from. Throws a ConfigError if options that it needs are missing. */
  readonly sources: (options: Slice) => readonly string[]
  /** Rejects when `signal` aborts it. */
  readonly run: (options: Slice, asked: AskedBackfill, context: BackfillContext) => Promise<EndedBackfill>
}

export interface AskedBackfill {
  /** The key of its stored progress. The same command has the same key, so it resumes. */
  readonly name: string
  readonly range: { readonly since: Millis; readonly until: Millis }
  readonly dryRun: boolean
  /** Whether this process also exports what is found. */
  readonly deliver: boolean
  readonly signal: AbortSignal
  /**
   * Also called before the first request: a stopped command prints the latest call. `share`: undefined while it is unknown. `seen`: how many were seen,
   * in words. `facts`: includes `requests`.
   */
  readonly onProgress: (share: number | undefined, seen: string, facts: Readonly<Record<string, number>>) => void
}

export interface BackfillContext {
  readonly client: PlatformClient
  readonly store: SharedStore
  readonly taking: EventTaking
}

/** The result of a backfill. `lines` has it in sentences, `facts` as JSON. */
export interface EndedBackfill {
  readonly range: AskedBackfill['range']
  readonly resumed: boolean
  readonly isWhole: boolean
  readonly lines: readonly string[]
  readonly facts: object
}

/** The command line, for commands that need the configuration. */
export interface ConfiguredLine<Slice> extends CommandLine {
  /** The backfills of features, which read something else than pipelines. */
  readonly backfills: readonly Backfill<never>[]
  /**
   * Loads the configuration of a command that does not listen. Throws Misconfigured. `mayBeMissing`: whether the file of the secret at this path, such
   * as `observability.token`, may be missing.
   */
  readonly configured: (mayBeMissing?: (setting: string) => boolean) => Promise<CommandSurroundings<Slice>>
  /** Opens the configured store beside a running daemon, for one command. Throws StoreError if there is no store yet. */
  readonly withStore: (command: (store: SharedStore) => Promise<number>) => Promise<number>
}

export interface CommandSurroundings<Slice> extends Surroundings {
  readonly options: Slice
  /** Opens the configured store beside a running daemon; creates a missing SQLite file. The caller must close it. */
  readonly openStore: () => Promise<SharedStore>
  /** The platform that `--platform` names; the option may be missing if only one is configured. Throws Misconfigured. */
  readonly platform: (name: string | undefined) => CommandPlatform
  /** Starts a daemon that processes and exports what is in the store. It reads no platform, and listens on random ports. */
  readonly startExporting: () => Promise<{ readonly store: SharedStore; readonly stop: () => Promise<unknown> }>
}

/** One token of a platform. Its configuration is as if it were the only token. */
export interface CommandPlatform {
  readonly name: string
  /** The groups that the token is for; empty: everything that no other token is for. */
  readonly groups: readonly string[]
  readonly config: Config
  /** Shares the API budget with all processes that use the store. Throws a ConfigError if no platform is configured. The caller must close the client. */
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
