// Tests the rules that set attributes: reserved names, and the sources of values.
import { describe, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import { costsOf } from '../../../src/commands/config-check.ts'
import { faults, good } from './given.ts'
import { wrongAttributeName } from '../../../src/daemon/configuration/attribute-rule-options.ts'
import { projectLabels } from '../../../src/core/telemetry/metrics/families.ts'

/** Returns the warnings about attribute rules, without the file name. */
function warnings(yaml: string, env = {}): string[] {
  return good({ PIPESPAN_WEBHOOK_TOKEN: 'x', ...env }, `attributes:\n  rules:\n${yaml}`).warnings.map(warning =>
    warning.replace(/^\S*:\d+:\d+: /, ''),
  )
}

/** Returns the names that the reference pages list as exported. */
function exportedNames(): string[] {
  return ['ATTRIBUTES', 'EVENTS', 'METRICS', 'INVENTORY'].flatMap(page =>
    readFileSync(`docs/${page}.md`, 'utf8')
      .split('\n')
      .filter(line => line.startsWith('| `') || line.startsWith('|  | `'))
      .flatMap(line => [
        ...line
          .split(' | ', 2)
          .join(' ')
          .matchAll(/`([a-z_0-9]+(?:\.[a-z_0-9]+)+)`/g),
      ])
      .map(([, name = '']) => name),
  )
}

describe('the names of custom attributes', () => {
  it('rejects names that Pipespan itself exports, and labels of the metrics page', () => {
    const names = [...new Set([...exportedNames(), ...projectLabels, 'otel.scope.name', 'le', 'job'])]
    expect(names.length).toBeGreaterThan(150)
    expect(names.filter(name => wrongAttributeName(name) === undefined)).toEqual([])
    // `cicd_pipeline_name` and `cicd.pipeline.name` would have the same Prometheus label.
    expect(wrongAttributeName('cicd_pipeline_name')?.what).toContain('reserved')
  })

  it('accepts any other name consisting of letters, digits, dots and underscores', () => {
    for (const name of ['team', 'tier', 'cost_center', 'acme.team', 'jobs', 'test_level', 'Team2']) {
      expect([name, wrongAttributeName(name)]).toEqual([name, undefined])
    }
    for (const name of ['', '2nd', 'a-b', 'a..b', 'a.', '.a', 'é', 'a'.repeat(65)]) {
      expect(wrongAttributeName(name)?.what).toContain('is not the name of an attribute')
    }
  })
})

it('rejects names in the namespace of the configured vendor', () => {
  const yaml = 'attributes: { rules: [{ set: { gitlab.team: shop, gitlab_tier: 1 } }] }'
  expect(faults({}, yaml)).toEqual([])
  expect(faults({ PIPESPAN_PLATFORM_PROFILE: 'gitlab' }, yaml)).toEqual([
    expect.stringContaining('The name gitlab.team is reserved: names that begin with "gitlab."'),
    expect.stringContaining('The name gitlab_tier is reserved'),
  ])
})

describe('the value of an attribute rule', () => {
  it('accepts a literal, or a value from a label with a prefix or from a named variable', () => {
    const { config } = good(
      {},
      'attributes: { rules: [{ set: { team: { label: "team::" }, tier: 1, lane: { variable: LANE } } }] }',
    )
    expect(config.attributes.rules[0]?.set).toEqual({
      team: { label: 'team::' },
      tier: '1',
      lane: { variable: 'LANE' },
    })
    for (const name of ['TEAM*', '"*"', 'A-B', '1A', '"A B"']) {
      expect(faults({}, `attributes: { rules: [{ set: { team: { variable: ${name} } } }] }`)).toEqual([
        expect.stringContaining('The variable for team is not an exact name. Write one name, not a pattern'),
      ])
    }
    for (const source of ['{ label: "" }', '{}', '{ lable: x }', '{ label: x, more: y }']) {
      expect(faults({}, `attributes: { rules: [{ set: { team: ${source} } }] }`)).toEqual([
        expect.stringContaining('team has no value. Write a string, or where it comes from'),
      ])
    }
    for (const source of ['[a]', '{ label: [a] }', '{ label: { a: b } }']) {
      expect(faults({}, `attributes: { rules: [{ set: { team: ${source} } }] }`)).toEqual([
        expect.stringMatching(/is not a plain value\. Write names and values/),
      ])
    }
  })
})

it('accepts values from up to sixteen variables in total', () => {
  const rules = (count: number): string =>
    Array.from({ length: count }, (_, n) => `    - { set: { team: { variable: TEAM_${n} } } }`).join('\n')
  expect(faults({}, `attributes:\n  rules:\n${rules(16)}\n    - { set: { tier: { variable: TEAM_0 } } }`)).toEqual([])
  expect(faults({}, `attributes:\n  rules:\n${rules(18)}`)).toEqual([
    expect.stringContaining('attributes.rules[16].set: The rules read more than 16 different variables.'),
  ])
})

it('reports the number of extra requests if a value comes from a label', () => {
  const rules = 'attributes: { rules: [{ set: { team: { label: "team::" } } }] }'
  expect(costsOf(good({}, 'attributes: { rules: [{ set: { team: shop } }] }').config)).not.toContainEqual(
    expect.stringContaining('Labels'),
  )
  expect(costsOf(good({}, rules).config)).toContainEqual(
    expect.stringMatching(/^Labels \(attributes\.rules\): .* only read from webhooks\.$/),
  )
  const env = { PIPESPAN_PLATFORM_URL: 'https://git.example.com', PIPESPAN_PLATFORM_TOKEN: 'pat-1' }
  expect(costsOf(good(env, rules).config)).toContain(
    'Labels (attributes.rules): at most 2 requests for each pipeline of a merge request.',
  )
})

describe('the attribute that `pages.group_by` names', () => {
  it('warns if no rule has a literal value for whole projects', () => {
    const env = { PIPESPAN_PAGES_GROUP_BY: 'team' }
    expect(warnings('    - { set: { team: shop } }', env)).toEqual([])
    for (const rule of [
      'set: { tier: "1" }',
      'set: { team: { label: "t::" } }',
      'jobs: { include: [a] }, set: { team: x }',
    ]) {
      expect(warnings(`    - { ${rule} }`, env)).toEqual([
        expect.stringContaining('pages.group_by: No rule sets team to a literal value for whole projects'),
      ])
    }
  })
})
