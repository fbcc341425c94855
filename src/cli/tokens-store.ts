// What rotations keep in the store: journals, the history of rotations, and the daemons' reports, as notes.
import { reportLife, reportPrefix, type DaemonReport } from '../app/tokens.ts'
import { StoreError } from '../lib/fault.ts'
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

/** Throws StoreError where one is damaged: what it said may be that a token is in use. */
function valuesOf<T>(documents: ReadonlyMap<string, Json>): T[] {
  for (const [name, value] of documents) {
    if (value !== null) continue
    throw new StoreError(
      `The store's note "${name}" is damaged.`,
      'A daemon writes its own anew within a minute; remove the row if it stays, once no rotation is under way.',
    )
  }
  return [...documents.values()] as T[]
}
