// A rotation target, which is the place daemons read a token from, and the parser for its address.
import { Fault } from '../../lib/fault.ts'
import type { Secret } from '../../lib/secret.ts'
import { RotationError, type Journal } from './journal.ts'

export interface TargetContent {
  /** The token in the target; undefined if the target does not exist yet or is empty. */
  readonly value: Secret | undefined
  readonly journal: Journal | undefined
}

export interface Target {
  /** The target's address: `file:/path` or `kubernetes:NAMESPACE/SECRET/KEY`. */
  readonly address: string
  /** The minimum grace period if no daemon reports its token, ms. It is needed because mounted Secrets are updated with a delay. */
  readonly minGraceMs: number
  /** Reads the target without taking its lock. */
  peek(): Promise<TargetContent>
  /** Locks the target. Throws RotationBusy if another rotation holds the lock. */
  lock(watching: Watching): Promise<LockedTarget>
}

/** Called before a rotation starts watching a lock whose holder may be dead. */
export type Watching = (holder: string) => void

/** A target whose lock this process holds. Every function throws a RotationError if the lock is lost or a write fails. */
export interface LockedTarget {
  read(): Promise<TargetContent>
  /** Writes the token's value durably and atomically: a reader sees either the old value or the new one. */
  write(value: Secret): Promise<void>
  /** Saves the rotation's journal durably and atomically. */
  save(journal: Journal): Promise<void>
  /** Renews the lock, to show that this rotation is alive. Called every few seconds while waiting. */
  renew(): Promise<void>
  release(): Promise<void>
}

export type TargetAddress =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'kubernetes'; readonly namespace: string; readonly secret: string; readonly key: string }

/** Parses a target address, `file:/path` or `kubernetes:NAMESPACE/SECRET/KEY`. Throws a RotationError for anything else. */
export function parseTarget(text: string): TargetAddress {
  if (/^file:\/./.test(text)) return { kind: 'file', path: text.slice('file:'.length).replace(/^\/+/, '/') }
  const parts = /^kubernetes:([a-z0-9-]+)\/([a-z0-9.-]+)\/([\w.-]+)$/.exec(text)
  const [, namespace, secret, key] = parts ?? []
  if (namespace !== undefined && secret !== undefined && key !== undefined) {
    return { kind: 'kubernetes', namespace, secret, key }
  }
  throw new RotationError(`"${text}" is not a target.`, 'Use file:/absolute/path or kubernetes:NAMESPACE/SECRET/KEY.')
}

/** Thrown when another rotation of the same target is running. */
export class RotationBusy extends Fault {
  constructor(target: string, holder: string) {
    super(
      `Another rotation of ${target} is running (${holder}).`,
      'Let it finish. If it was killed, the next run takes over automatically.',
    )
  }
}
