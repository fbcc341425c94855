// A damaged file is SQLite's matter: whichever statement meets the damage, the process that serves the store ends, and a command fails, with one sentence.
// Nothing is saved from such a file, and nothing that was answered depends on it more than before: senders got no 2xx for what was not committed, and
// what the platform still knows can be read again.
import { damageFault } from './faults.ts'
import type { SQLInputValue, SQLOutputValue, StatementResultingChanges, StatementSync } from 'node:sqlite'
import type { StoreError } from '../../../lib/fault.ts'

/** What the store does with a statement: its parameters are numbered. */
export interface Statement {
  all(...values: SQLInputValue[]): Record<string, SQLOutputValue>[]
  get(...values: SQLInputValue[]): Record<string, SQLOutputValue> | undefined
  run(...values: SQLInputValue[]): StatementResultingChanges
}

export interface DamageWatch {
  /** The result of `work`; throws the sentence if it meets damage, after `onDamage`. */
  readonly watched: <T>(work: () => T) => T
  /** The same for each use of a statement. */
  readonly watchedStatement: (statement: StatementSync) => Statement
}

export function watchForDamage(file: string, onDamage: ((fault: StoreError) => void) | undefined): DamageWatch {
  function watched<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      const fault = damageFault(file, error)
      if (fault === undefined) throw error
      onDamage?.(fault)
      throw fault
    }
  }
  return {
    watched,
    watchedStatement: statement => ({
      all: (...values) => watched(() => statement.all(...values)),
      get: (...values) => watched(() => statement.get(...values)),
      run: (...values) => watched(() => statement.run(...values)),
    }),
  }
}
