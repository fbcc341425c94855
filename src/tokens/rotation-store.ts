// What a rotation needs from the store, if one is reachable: copies of journals, and daemons' reports.
import type { Journal } from './journal.ts'
import type { RotationRecord } from '../store/ports/token-documents.ts'

/** A token that a running daemon sends. A daemon with several destinations may have several. */
export interface TokenReport {
  /** Identifies the daemon: `HOST/PROCESS/RANDOM`. */
  readonly daemon: string
  /** See `fingerprintOf`. */
  readonly tokenFingerprint: string
}

export interface RotationStore {
  /** The copies of all targets' journals. */
  journals(): Promise<readonly Journal[]>
  /** Replaces the copy of `journal.target`. */
  saveJournal(journal: Journal): Promise<void>
  /** Inserts or replaces by `id`. */
  recordRotation(record: RotationRecord): Promise<void>
  /** The reports of running daemons, without those that have ended or gone silent. */
  tokenReports(): Promise<readonly TokenReport[]>
}
