// What rotations read from the store, if it is damaged.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { journals } from '../../../src/features/tokens/documents.ts'
import { openSqlite } from '../../support/stores.ts'
import { rotationStore } from '../../../src/features/tokens/stored-rotations.ts'

it('a rotation does not take a journal that it cannot read for none', async () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  const store = closeAfterTest(openSqlite(file, { maxSize: 2 ** 30, now: () => Date.now() }))
  const instance = 'https://observability.example.com'
  await store.repositories.of(journals).put({ version: 1, revision: 0, target: 'x', instance, older: [] })
  expect(await rotationStore(store.repositories).journals()).toHaveLength(1)
  const database = new DatabaseSync(file)
  database.exec("UPDATE key_value SET value = substr(value, 1, 10) WHERE name = 'rotation/journal x'")
  database.close()
  await expect(rotationStore(store.repositories).journals()).rejects.toThrow(
    /rotation\/journal x" is damaged.*delete the row/,
  )
})
