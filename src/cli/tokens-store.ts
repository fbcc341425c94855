// What rotations keep in the store: journals, the history of rotations, and the daemons' reports, as notes.
import { reportLife, reportPrefix, type DaemonReport } from '../app/tokens.ts'
import type { Journal } from '../tokens/journal.ts'
import type { Json, Notes } from '../store/ports/notes.ts'
import type { RotationStore } from '../tokens/rotation-store.ts'

export const journalPrefix = 'rotation/journal/'
export const recordPrefix = 'rotation/record/'

export function rotationStore(notes: Notes): RotationStore {
  const put = async (name: string, value: object): Promise<void> =>
    notes.change(name, () => ({ value: value as Json, result: undefined }))
  return {
    journals: async () => valuesOf<Journal>(await notes.list(journalPrefix)),
    saveJournal: async journal => put(`${journalPrefix}${journal.target}`, journal),
    recordRotation: async record => put(`${recordPrefix}${record.id}`, record),
    tokenReports: async () => {
      const now = await notes.change('clock', (_, at) => ({ value: undefined, result: at }))
      const reports = valuesOf<DaemonReport>(await notes.list(reportPrefix))
      return reports
        .filter(({ at }) => now - at < reportLife)
        .flatMap(({ daemon, fingerprints, at }) =>
          fingerprints.map(tokenFingerprint => ({ daemon, tokenFingerprint, at })),
        )
    },
  }
}

const away = async (): Promise<never> => Promise.reject(new Error('it cannot be opened'))

/** One that is configured and cannot be opened: a daemon may use any token. */
export const awayStore: RotationStore = {
  journals: away,
  saveJournal: away,
  recordRotation: away,
  tokenReports: away,
}

function valuesOf<T>(documents: ReadonlyMap<string, Json>): T[] {
  return [...documents.values()] as T[]
}
