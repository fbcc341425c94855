// What rotations need from the store: copies of their journals, their history, and the tokens that daemons report.
import { daemonReports, journals, rotations } from './documents.ts'
import { reportLife } from './daemon-token-report.ts'
import { StoreError } from '../../lib/fault.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'
import type { RotationStore } from './rotation-store.ts'

export function rotationStore({ of }: Pick<Repositories, 'of'>): RotationStore {
  const reported = of(daemonReports)
  return {
    journals: async () => of(journals).all(refuse),
    saveJournal: async journal => of(journals).put(journal),
    recordRotation: async record => of(rotations).put(record),
    tokenReports: async () => {
      const [reports, now] = await Promise.all([reported.all(refuse), reported.now()])
      return reports
        .filter(({ at }) => now - at < reportLife)
        .flatMap(({ daemon, fingerprints }) => fingerprints.map(tokenFingerprint => ({ daemon, tokenFingerprint })))
    },
  }
}

const away = async (): Promise<never> => Promise.reject(new Error('it cannot be opened'))

/** For a store that is configured and cannot be opened: no token is known to be unused, so every read fails. */
export const awayStore: RotationStore = {
  journals: away,
  saveJournal: away,
  recordRotation: away,
  tokenReports: away,
}

/** A damaged document may have said that a token is in use: it is not skipped, but a StoreError. */
function refuse(name: string): never {
  throw new StoreError(
    `The store's document "${name}" is damaged.`,
    'A running daemon rewrites it within a minute; if it does not, delete the row while no rotation is running.',
  )
}
