// What a step of the setup is: what it would do, what takes it back, and doing it, once however often it is begun.
import type { Secret } from '../../lib/secret.ts'
import type { PlatformClient } from '../../platform/rest/client.ts'
import type { IngestTokens } from '../../tokens/client.ts'
import type { SetupAnswers } from './answers.ts'
import type { SetupJournal } from './journal.ts'
import type { Terminal } from '../terminal.ts'

export interface SetupStep {
  readonly name: string
  /** What it does: a sentence. */
  readonly does: string
  /** How it is taken back; undefined: it cannot be. */
  readonly undo?: string | undefined
  /** Only a person can do it: `run` looks whether it was done. */
  readonly byPerson?: boolean | undefined
  /** What whoever agrees to the plan should know: a sentence. */
  readonly warns?: string | undefined
  readonly run: (context: StepContext) => Promise<StepOutcome>
}

export interface StepContext {
  readonly answers: SetupAnswers
  readonly journal: SetupJournal
  readonly terminal: Terminal
  /** With the owner's token; undefined without one. */
  readonly platform: PlatformClient | undefined
  /** The platform with another token, to try it; closed with the setup. */
  readonly connect: (token: Secret) => PlatformClient
  /** Undefined without its address or key. */
  readonly instance: IngestTokens | undefined
}

export type StepOutcome =
  | { readonly is: 'done'; readonly said: string }
  /** What a person must do before the rest makes sense. */
  | { readonly is: 'waiting'; readonly said: string }
