// Declares what a rotation needs from the store, if one is reachable: copies of journals, and reports of daemons.
import type { Journal } from './journal.ts'
import type { RotationRecord } from './documents.ts'

/** A token that a running daemon sends. A daemon with several destinations may have several. */
export interface TokenReport {
  /** Identifies the daemon: `HOST/PROCESS/RANDOM`. */
  readonly daemon: string
  /** The fingerprint, made by `fingerprintOf`. */
  readonly tokenFingerprint: string
}

export interface RotationStore {
  /** The copies of all targets' journals. */
  journals(): Promise<readonly Journal[]>
  /** Replaces the copy of `journal.target`. */
  saveJournal(journal: Journal): Promise<void>
  /** Inserts the record, or replaces the one with the same `id`. */
  recordRotation(record: RotationRecord): Promise<void>
  /** The reports of running daemons. Reports of daemons that have stopped or gone silent are not included. */
  tokenReports(): Promise<readonly TokenReport[]>
}
