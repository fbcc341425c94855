// A store of a test on SQLite: opened as its own, and once more beside itself as commands do it.
import { openSqliteShared, type TestStoreOptions } from '../../support/stores.ts'
import { StoreTaken } from '../../../src/core/store/sqlite/serve-lock.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** What `open` answers, or, while the file is served, the store as it is shared: the exercises ask that one for nothing it has not. */
export function ownOrShared(file: string, options: TestStoreOptions, open: () => Store): Store {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof StoreTaken)) throw error
    return openSqliteShared(file, options) as Store
  }
}
