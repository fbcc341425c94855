// What rotation asks of the store, where one is reachable: a second copy of the journals, and what the daemons report.
import type { Journal } from './journal.ts'
import type { RotationRecord } from '../store/ports/token-documents.ts'

/** A token that a running daemon sends; one with several destinations may have several. */
export interface TokenReport {
  /** Names the daemon, e.g. host and process. */
  readonly daemon: string
  /** From `fingerprintOf`; never the value. */
  readonly tokenFingerprint: string
  /** Unix ms. */
  readonly at: number
}

export interface RotationStore {
  /** Every target's latest copy. */
  journals(): Promise<readonly Journal[]>
  /** Replaces the copy of `journal.target`. */
  saveJournal(journal: Journal): Promise<void>
  /** Inserts or replaces by `id`. */
  recordRotation(record: RotationRecord): Promise<void>
  /** Of the daemons that run now: those that have ended or gone silent are left out. */
  tokenReports(): Promise<readonly TokenReport[]>
}
