// The store as a rotation uses it, if one is reachable: copies of journals, the rotation history, and the tokens that daemons report.
import { daemonReports, journals, rotations, type RotationRecord } from './documents.ts'
import { maxReportAgeMs } from './daemon-token-report.ts'
import { StoreError } from '../../lib/fault.ts'
import type { Journal } from './journal.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'

/** A running daemon's report of the token it sends. A daemon with several destinations may report several tokens. */
export interface TokenReport {
  /** The daemon's identity, in the form `HOST/PROCESS/RANDOM`. */
  readonly daemon: string
  /** The token's fingerprint, computed by `fingerprintOf`. */
  readonly tokenFingerprint: string
}

export interface RotationStore {
  /** Returns the stored copies of all targets' journals. */
  journals(): Promise<readonly Journal[]>
  /** Replaces the stored copy of this target's journal (`journal.target`). */
  saveJournal(journal: Journal): Promise<void>
  /** Inserts a rotation record, or replaces the one with the same `id`. */
  recordRotation(record: RotationRecord): Promise<void>
  /** Returns the token reports of running daemons. Daemons that have stopped or no longer report are left out. */
  tokenReports(): Promise<readonly TokenReport[]>
}

export function rotationStore({ of }: Pick<Repositories, 'of'>): RotationStore {
  const reported = of(daemonReports)
  return {
    journals: async () => of(journals).all(refuse),
    saveJournal: async journal => of(journals).put(journal),
    recordRotation: async record => of(rotations).put(record),
    tokenReports: async () => {
      const [reports, now] = await Promise.all([reported.all(refuse), reported.now()])
      return reports
        .filter(({ at }) => now - at < maxReportAgeMs)
        .flatMap(({ daemon, fingerprints }) => fingerprints.map(tokenFingerprint => ({ daemon, tokenFingerprint })))
    },
  }
}

const away = async (): Promise<never> => Promise.reject(new Error('it cannot be opened'))

/** Stands in for a configured store that cannot be opened. Every read fails, so that no token is assumed to be unused. */
export const awayStore: RotationStore = {
  journals: away,
  saveJournal: away,
  recordRotation: away,
  tokenReports: away,
}

/** Throws a StoreError for a damaged document. The document is not skipped, because it may record that a token is in use. */
function refuse(name: string): never {
  throw new StoreError(
    `The store's document "${name}" is damaged.`,
    'A running daemon rewrites it within a minute; if it does not, delete the row while no rotation is running.',
  )
}
