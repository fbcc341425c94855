// Where a token is kept for the daemons to read: what rotation asks of such a place, and how one is named.
import type { Secret } from '../lib/secret.ts'
import type { Journal } from './journal.ts'
import { RotationError } from './rotation-error.ts'

export interface TargetContent {
  /** Undefined when there is none yet, or it is empty. */
  readonly value: Secret | undefined
  readonly journal: Journal | undefined
}

export interface Target {
  /** As given: `file:/path` or `kubernetes:NAMESPACE/SECRET/KEY`. */
  readonly address: string
  /** Without reports from daemons no token is revoked sooner after the write, ms: what is mounted lags behind. */
  readonly leastGraceMs: number
  /** A look without the lock. */
  peek(): Promise<TargetContent>
  /** Takes the target's lock. Throws RotationBusy when another rotation has it. */
  lock(watching: Watching): Promise<LockedTarget>
}

/** Called when a lock is found whose holder may be dead, before it is watched for a while. */
export type Watching = (holder: string) => void

/** Only the holder of the lock writes. Every function throws a RotationError when the lock is lost or the write fails. */
export interface LockedTarget {
  read(): Promise<TargetContent>
  /** Durable, in one go: a reader sees the old value or the new one. */
  write(value: Secret): Promise<void>
  /** Durable, in one go. */
  save(journal: Journal): Promise<void>
  /** Says that this rotation lives; called at least every few seconds of a wait. */
  renew(): Promise<void>
  release(): Promise<void>
}

export type TargetAddress =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'kubernetes'; readonly namespace: string; readonly secret: string; readonly key: string }

/** Reads `file:/path` or `kubernetes:NAMESPACE/SECRET/KEY`. Throws a RotationError for anything else. */
export function parseTarget(text: string): TargetAddress {
  if (/^file:\/./.test(text)) return { kind: 'file', path: text.slice('file:'.length).replace(/^\/+/, '/') }
  const parts = /^kubernetes:([a-z0-9-]+)\/([a-z0-9.-]+)\/([\w.-]+)$/.exec(text)
  const [, namespace, secret, key] = parts ?? []
  if (namespace !== undefined && secret !== undefined && key !== undefined) {
    return { kind: 'kubernetes', namespace, secret, key }
  }
  throw new RotationError(`"${text}" is not a target.`, 'Use file:/absolute/path or kubernetes:NAMESPACE/SECRET/KEY.')
}
