// What memory knows of the rows follows the commit.
import { expect, it } from 'vitest'
import { openOwnDatabase } from '../../../src/core/store/sqlite/database.ts'

it('runs callbacks in order after the commit, and none after a rollback', () => {
  const db = openOwnDatabase(':memory:', { now: () => 1 })
  const count = () => db.prepare('SELECT count(*) AS rows FROM counters').get()?.rows
  const add = (name: string, then: () => void): void => {
    db.prepare('INSERT INTO counters VALUES (?, 1)').run(name)
    db.afterCommit(then)
  }
  const said: unknown[] = []
  const result = db.transaction(() => {
    add('a', () => said.push(['first', count()]))
    // A transaction of its own, after this one.
    add('b', () => db.transaction(() => add('c', () => said.push(['second', count()]))))
    expect(said).toEqual([])
    return 'done'
  })
  expect([result, said]).toEqual([
    'done',
    [
      ['first', 2],
      ['second', 3],
    ],
  ])
  const broken = (): void => {
    db.transaction(() => {
      add('d', () => said.push('never'))
      throw new Error('broken')
    })
  }
  expect(broken).toThrow('broken')
  db.transaction(() => undefined)
  expect([count(), said.length]).toEqual([3, 2])
  expect(() => db.afterCommit(() => undefined)).toThrow(/no transaction/)
  db.close()
})
