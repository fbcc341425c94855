// A rotation store in memory, whose daemons report what a test tells them to.
import type { Journal } from '../../../src/tokens/journal.ts'
import type { RotationRecord } from '../../../src/store/ports/token-documents.ts'
import type { RotationStore, TokenReport } from '../../../src/tokens/rotation-store.ts'

export interface MemoryStore extends RotationStore {
  readonly copies: Map<string, Journal>
  readonly records: Map<string, RotationRecord>
  reports: () => readonly TokenReport[]
  /** Every function rejects while it is true. */
  away: boolean
}

export function createMemoryStore(): MemoryStore {
  const here = () => {
    if (store.away) throw new Error('the database is away')
  }
  const store: MemoryStore = {
    copies: new Map(),
    records: new Map(),
    reports: () => [],
    away: false,
    journals: async () => {
      here()
      return [...store.copies.values()]
    },
    saveJournal: async journal => {
      here()
      store.copies.set(journal.target, journal)
    },
    recordRotation: async record => {
      here()
      store.records.set(record.id, record)
    },
    tokenReports: async () => {
      here()
      return store.reports()
    },
  }
  return store
}
