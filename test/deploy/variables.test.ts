// Tests that the daemon reads every variable that is mentioned in a file in deploy/ or on a documentation page.
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { knownVariables } from './known-variables.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { repository } from './tool.ts'

const files = globSync(['deploy/**/*', 'docs/*.md', 'config/**/*.yaml', '*.md', 'Dockerfile'], {
  cwd: repository,
}).filter(name => /(\.(ya?ml|md|tpl|txt|service|conf|json)|Dockerfile)$/.test(name) && name !== 'CHANGELOG.md')

/** Variables that the daemon does not read, but a CI job, the tests or `pipespan setup` do. */
const ofOthers = /^PIPESPAN_(ROOT_PIPELINE_ID|SETUP_TOKEN|TEST_\w+|FUZZ_\w+)$/

/**
 * Returns the variables that the file names in full. Patterns such as `PIPESPAN_REFS_…` and `OTEL_*` are left out, because each stands for several
 * variables.
 */
function variablesIn(name: string): string[] {
  const text = readFileSync(path.join(repository, name), 'utf8')
  return [
    ...text.matchAll(/\b(?:PIPESPAN|SERVICE_OBSERVABILITY|GITLAB_OBSERVABILITY|OTEL)_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_])/g),
  ]
    .map(([variable]) => variable)
    .filter(variable => !ofOthers.test(variable))
}

describe('the variables in deployment files and documentation', () => {
  it('mentions in every file only variables that the daemon reads', () => {
    const known = new Set(knownVariables())
    const named = files.flatMap(name => variablesIn(name).map(variable => ({ name, variable })))
    expect(named.length).toBeGreaterThan(100)
    expect(named.filter(({ variable }) => !known.has(variable))).toEqual([])
  })

  it('uses only variables in deploy/ that are read under every profile', () => {
    const ofOne = Object.values(profiles).flatMap(({ variables }) => Object.values(variables))
    const named = files.filter(name => name.startsWith('deploy/')).flatMap(variablesIn)
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(variable => ofOne.includes(variable.replace(/_FILE$/, '')))).toEqual([])
  })
})
