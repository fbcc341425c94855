// SECURITY.md promises nothing that no test holds: each row of its tables names one, and what it names is there.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const repository = path.join(import.meta.dirname, '..')
const page = readFileSync(path.join(repository, 'SECURITY.md'), 'utf8')
const promises = page.slice(page.indexOf('## What is promised'), page.indexOf('## What it does not defend'))
const rows = promises.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| promise'))

it('names a test or a file for every promise', () => {
  expect(rows.length).toBeGreaterThan(15)
  const bare = rows.filter(row => !/`(test|scripts|src)\/[^`]+`/.test(row.split('|').at(-2) ?? ''))
  expect(bare).toEqual([])
})

it('names only existing files', () => {
  const named = [...page.matchAll(/`((?:test|scripts|src)\/[^`\s]+)`/g)].map(([, file = '']) => file)
  expect(named.filter(file => !existsSync(path.join(repository, file)))).toEqual([])
})
