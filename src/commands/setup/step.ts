// A step of the setup: what it does, how it is undone, and a `run` that may be repeated.
import type { Secret } from '../../lib/secret.ts'
import type { CommandClient } from '../platform.ts'
import type { TokenMaker } from '../../daemon/feature.ts'
import type { SetupJournal } from './journal.ts'
import type { Terminal } from '../../lib/terminal.ts'

export interface SetupStep {
  readonly name: string
  /** What it does: a sentence. */
  readonly does: string
  /** How it is undone; undefined: it cannot be. */
  readonly undo?: string | undefined
  /** Only a person can do it: `run` checks whether it was done. */
  readonly byPerson?: boolean | undefined
  /** A warning below the plan: a sentence. */
  readonly warns?: string | undefined
  readonly run: (context: StepContext) => Promise<StepOutcome>
}

export interface StepContext {
  readonly journal: SetupJournal
  readonly terminal: Terminal
  /** A client with the owner's token; undefined without one. */
  readonly platform: CommandClient | undefined
  /** A client with another token, to test it; closed with the setup. */
  readonly connect: (token: Secret) => CommandClient
  /** Undefined without its address or key. */
  readonly instance: TokenMaker | undefined
}

export interface StepOutcome {
  readonly is: 'done' | 'waiting'
  /** Of one that waits: what a person must do. */
  readonly said: string
}
