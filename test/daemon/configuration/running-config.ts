// Loads a configuration from a file that the test can overwrite before it reloads.
import { writeFileSync } from 'node:fs'
import { features } from '../../../src/features.ts'
import { fileWith } from './given.ts'
import { loadConfig, type LoadedConfig, type LoadOptions } from '../../../src/daemon/configuration/load.ts'
import { profiles, type ProfileName } from '../../../src/daemon/profile.ts'

/** Returns a loaded configuration, the options to load it again, and a function that overwrites its file. */
export function running(yaml: string): {
  loaded: LoadedConfig<ProfileName>
  options: LoadOptions<ProfileName>
  write: (yaml: string) => void
} {
  const file = fileWith(yaml)
  const options = { env: {}, file, profiles, features }
  const loaded = loadConfig(options)
  if (!loaded.ok) throw new Error('The configuration of this test has faults.')
  return { loaded, options, write: text => writeFileSync(file, text) }
}
