// What a feature adds to the command line, and what its commands are given.
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
  /** `audit` of `--audit`. */
  readonly flag: string
  /** What it reads: a noun. */
  readonly what: string
  /** Throws a ConfigError without the options that it needs. */
  readonly sources: (options: Slice) => readonly string[]
  /** Rejects when `signal` aborts it. */
  readonly run: (options: Slice, asked: AskedBackfill, context: BackfillContext) => Promise<EndedBackfill>
}

export interface AskedBackfill {
  /** The key of its progress: the same command has the same one, and resumes. */
  readonly name: string
  readonly range: { readonly since: Millis; readonly until: Millis }
  readonly dryRun: boolean
  /** Whether this process also exports what is found. */
  readonly deliver: boolean
  readonly signal: AbortSignal
  /**
   * Called before the first request too: a command that is stopped prints the latest call. `share`: undefined while it is not known. `seen`: how many,
   * in words. `facts`: with `requests`.
   */
  readonly onProgress: (share: number | undefined, seen: string, facts: Readonly<Record<string, number>>) => void
}

export interface BackfillContext {
  readonly client: PlatformClient
  readonly store: SharedStore
  readonly taking: EventTaking
}

/** `lines` and `facts`: what it has to report, in sentences and as JSON. */
export interface EndedBackfill {
  readonly range: AskedBackfill['range']
  readonly resumed: boolean
  readonly isWhole: boolean
  readonly lines: readonly string[]
  readonly facts: object
}

/** The command line, for commands that need the configuration. */
export interface ConfiguredLine<Slice> extends CommandLine {
  /** What its features read instead of pipelines. */
  readonly backfills: readonly Backfill<never>[]
  /**
   * Loads the configuration of a command that does not listen. Throws Misconfigured. `mayBeMissing`: whether the file of the secret at this path, such
   * as `observability.token`, may be missing.
   */
  readonly configured: (mayBeMissing?: (setting: string) => boolean) => Promise<CommandSurroundings<Slice>>
  /** Hands the configured store, opened beside a running daemon, to a command. Throws StoreError if there is none yet. */
  readonly withStore: (command: (store: SharedStore) => Promise<number>) => Promise<number>
}

export interface CommandSurroundings<Slice> extends Surroundings {
  readonly options: Slice
  /** Opens the configured store beside a running daemon; creates a SQLite file that is missing. Whoever opens it closes it. */
  readonly openStore: () => Promise<SharedStore>
  /** That of `--platform`, which may be missing if only one is configured. Throws Misconfigured. */
  readonly platform: (name: string | undefined) => CommandPlatform
  /** Starts a daemon that processes and exports what is in the store: it reads no platform, and nobody knows where it listens. */
  readonly startExporting: () => Promise<{ readonly store: SharedStore; readonly stop: () => Promise<unknown> }>
}

/** One token of a platform; its configuration as if it were the only one. */
export interface CommandPlatform {
  readonly name: string
  /** Those that the token is for; empty: all that no other token is for. */
  readonly groups: readonly string[]
  readonly config: Config
  /** Shares the API budget with all that use the store. Throws a ConfigError if no platform is configured. Whoever connects closes the client. */
  readonly connect: (store: SharedStore) => {
    readonly client: PlatformClient
    readonly budget: Pick<Budget, 'snapshot'>
    readonly taking: EventTaking
  }
}

/** The calls that `pipespan setup` makes. They reject with a Fault. */
export interface TokenMaker {
  list(): Promise<readonly { readonly id: string; readonly name?: string | undefined }[]>
  create(name: string): Promise<{ readonly value: Secret; readonly id?: string | undefined }>
  revoke(id: string): Promise<unknown>
}
