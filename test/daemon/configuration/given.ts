// Configurations for tests, loaded from environment variables and YAML text.
import { expect } from 'vitest'
import { writeFileSync } from 'node:fs'
import { temporaryFolder } from '../../support/after-test.ts'
import path from 'node:path'
import { describeFault } from '../../../src/daemon/configuration/config-fault.ts'
import { loadConfig, type FaultyConfig, type LoadedConfig } from '../../../src/daemon/configuration/load.ts'
import { profiles, type ProfileName } from '../../../src/daemon/profile.ts'
import { features } from '../../../src/features.ts'
import type { Environment } from '../../../src/daemon/configuration/variables.ts'

/** Creates a folder that is removed after the test. */
export function folder(): string {
  const made = temporaryFolder()
  return made
}

/** Creates a file with this content and returns its path. */
export function fileWith(text: string, name = 'pipespan.yaml'): string {
  const file = path.join(folder(), name)
  writeFileSync(file, text)
  return file
}

export function load(env: Environment, yaml?: string): LoadedConfig<ProfileName> | FaultyConfig {
  return loadConfig({ env, profiles, features, file: yaml === undefined ? undefined : fileWith(yaml) })
}

/** Returns the configuration, which must have no faults. */
export function good(env: Environment, yaml?: string): LoadedConfig<ProfileName> {
  const loaded = load(env, yaml)
  if (loaded.ok) return loaded
  throw new Error(loaded.faults.map(describeFault).join('\n'))
}

/** Returns the faults as the operator sees them, without the file name. */
export function faults(env: Environment, yaml?: string): string[] {
  const loaded = load(env, yaml)
  return loaded.ok ? [] : loaded.faults.map(fault => describeFault(fault).replace(/^\/\S*\/pipespan\.yaml:/, ''))
}

/** Matches a fault or warning by its location and its remedy. The sentence between them may change. */
export function faultOf(place: string, remedy: string): unknown {
  const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return expect.stringMatching(new RegExp(`^${literal(place)}: .* ${literal(remedy)}$`, 's'))
}
