// Tests what the poller stores about each project.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { newEntry, openBook } from '../../../src/core/find/poll-book.ts'
import { openSqlite } from '../../support/stores.ts'
import { instance, t0 } from '../../flow/world.ts'

it('drops a project for good, so that the next process does not know it either', async () => {
  const { repositories } = closeAfterTest(openSqlite(':memory:', { now: () => t0, maxSize: 2 ** 30 }))
  const book = await openBook(repositories.polledProjects, instance)
  for (const project of [3, 4]) await book.put(newEntry(project, t0, `acme/p${project}`))
  await book.drop(3)
  const next = await openBook(repositories.polledProjects, instance)
  expect([...next.entries()].map(({ project }) => project)).toEqual([4])
})
