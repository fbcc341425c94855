import { describe, expect, it } from 'vitest'
import { fromJSONSchema } from 'zod'
import { parse } from 'yaml'
import { readFileSync } from 'node:fs'
import { allOptions } from '../../../src/daemon/configuration/options.ts'
import { environmentHelp } from '../../../src/daemon/configuration/variables.ts'
import { faults } from './given.ts'
import { jsonSchema } from '../../../scripts/docs/json-schema.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { features } from '../../../src/features.ts'
import { rowsOf, variablesOf } from '../../../src/daemon/configuration/option.ts'

const rows = rowsOf(allOptions(profiles, features))
const example = readFileSync('config/pipespan.example.yaml', 'utf8')

describe('the table of options', () => {
  it('lists no variable twice', () => {
    const names = rows.flatMap(({ option }) => variablesOf(option, profiles.generic))
    expect(new Set(names).size).toBe(names.length)
  })

  it('lists only valid defaults and examples', () => {
    const written = rows.flatMap(({ path, option: { kind, spec } }) =>
      path === 'config'
        ? []
        : [spec.default, spec.example].flatMap(text => (text === undefined ? [] : [kind.parse(text)])),
    )
    expect(written.filter(parsed => 'wrong' in parsed)).toEqual([])
    expect(written.length).toBeGreaterThan(20)
  })

  it('ends every description with a full stop', () => {
    for (const { option } of rows) expect(option.spec.description).toMatch(/[.]$/)
  })

  it('lists all variables in the help text, except those for single signals', () => {
    const help = environmentHelp(profiles, profiles.gitlab, features)
    const names = rows.flatMap(({ option }) => variablesOf(option, profiles.gitlab).slice(-1))
    for (const name of names)
      if (!/_(TRACES|METRICS|LOGS)_/.test(name) || name.startsWith('PIPESPAN')) expect(help).toContain(`  ${name}`)
    expect(help).toContain('GITLAB_OBSERVABILITY_TOKEN *')
    expect(help).not.toContain('SERVICE_OBSERVABILITY')
  })
})

describe('the example file', () => {
  it('accepts the example file, even with its commented-out lines enabled', () => {
    expect(faults({}, example)).toEqual([])
    expect(faults({}, example.replace('# listen:', 'listen:'))).toEqual([])
  })

  it('validates the example file against the JSON schema, which rejects unknown keys and invalid values', () => {
    const schema = fromJSONSchema(jsonSchema(profiles))
    expect(schema.safeParse(parse(example)).success).toBe(true)
    expect(schema.safeParse({ ...(parse(example) as object), settle: '5s', trust_proxy: true }).success).toBe(true)
    for (const wrong of [{ webhok: {} }, { settle: 'soon' }, { log: { level: 'loud' } }, { config: 'x' }]) {
      expect(schema.safeParse(wrong).success).toBe(false)
    }
  })
})
