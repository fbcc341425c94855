// The kill switch itself: it works in every thread of a program, and only at the moment it is reported.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { momentsOn, nameOf } from './points.ts'

const program = `
import { DatabaseSync } from 'node:sqlite'
import { isMainThread, Worker } from 'node:worker_threads'
if (isMainThread) new Worker(new URL(import.meta.url)).on('exit', () => console.log('the end'))
else {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE messages (id); CREATE TABLE outbox (id)')
  for (let id = 1; id <= 3; id += 1) {
    database.prepare('BEGIN').run()
    database.prepare('INSERT INTO messages VALUES (?)').run(id)
    database.prepare('INSERT INTO outbox VALUES (?)').run(id)
    console.log('begun', id)
    database.prepare('COMMIT').run()
  }
}`

function run(at: string, nth: number): { signal: string | null; begun: number; stderr: string; ended: boolean } {
  const file = path.join(temporaryFolder(), 'program.mjs')
  writeFileSync(file, program)
  const preload = new URL('kill-switch.ts', import.meta.url).href
  const env = { PATH: process.env.PATH, CRASH_AT: at, CRASH_NTH: String(nth) }
  const { signal, stdout, stderr } = spawnSync(process.execPath, ['--import', preload, file], { env, encoding: 'utf8' })
  return { signal, stderr, begun: [...stdout.matchAll(/begun/g)].length, ended: stdout.includes('the end') }
}

it('kills the process at the n-th occurrence of a named point, on any thread, and says so', () => {
  const at = 'before commit: a run in a snapshot and in the outbox'
  const { signal, ended, stderr } = run(at, 2)
  expect({ signal, ended }).toEqual({ signal: 'SIGKILL', ended: false })
  expect(stderr).toContain(`killed ${at}\n`)
})

it('does not disturb a program that never reaches the point', () => {
  expect(run('before commit: a run in a snapshot and in the outbox', 4)).toMatchObject({
    signal: null,
    ended: true,
    begun: 3,
  })
  expect(run('before commit: exports leased', 1)).toMatchObject({ signal: null, ended: true, begun: 3 })
})

it('has one name for each point', () => {
  const names = momentsOn('sqlite').map(nameOf)
  expect(new Set(names).size).toBe(names.length)
})
