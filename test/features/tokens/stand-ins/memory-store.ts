// An in-memory store for token rotations. A test sets which tokens the daemons report.
import type { Journal } from '../../../../src/features/tokens/journal.ts'
import type { RotationRecord } from '../../../../src/features/tokens/documents.ts'
import type { RotationStore, TokenReport } from '../../../../src/features/tokens/rotation-store.ts'

export interface MemoryStore extends RotationStore {
  readonly copies: Map<string, Journal>
  readonly records: Map<string, RotationRecord>
  reports: () => readonly TokenReport[]
  /** Whether the store is unreachable. While this is true, every function rejects. */
  isAway: boolean
}

export function createMemoryStore(): MemoryStore {
  const failIfAway = () => {
    if (store.isAway) throw new Error('the database is away')
  }
  const store: MemoryStore = {
    copies: new Map(),
    records: new Map(),
    reports: () => [],
    isAway: false,
    journals: async () => {
      failIfAway()
      return [...store.copies.values()]
    },
    saveJournal: async journal => {
      failIfAway()
      store.copies.set(journal.target, journal)
    },
    recordRotation: async record => {
      failIfAway()
      store.records.set(record.id, record)
    },
    tokenReports: async () => {
      failIfAway()
      return store.reports()
    },
  }
  return store
}
