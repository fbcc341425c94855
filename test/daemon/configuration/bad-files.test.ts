// One bad configuration file per rule, with its exact messages in the lines that start with `#! `.
import { expect, it } from 'vitest'
import { readdirSync, readFileSync } from 'node:fs'
import { describeFault } from '../../../src/daemon/configuration/config-fault.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { features } from '../../../src/features.ts'
import { profiles } from '../../../src/daemon/profile.ts'

const folder = 'test/daemon/configuration/bad'
const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))

it.each(files)('rejects %s with its documented message', name => {
  const file = `${folder}/${name}`
  const text = readFileSync(file, 'utf8')
  const expected = text.split('\n').flatMap(line => (line.startsWith('#! ') ? [line.slice(3)] : []))
  const loaded = loadConfig({ env: {}, file, profiles, features })
  const messages = loaded.ok ? [] : loaded.faults.map(describeFault)
  expect(messages.map(message => message.replace(`${file}:`, ''))).toEqual(expected)
  expect(expected).not.toEqual([])
  expect(messages.join('\n')).not.toMatch(/h[uü]nter2/)
})
