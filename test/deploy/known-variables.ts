// The environment variables that the daemon reads, taken from the table of options.
import { optionSections } from '../../src/daemon/configuration/options.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { features } from '../../src/features.ts'
import { rowsOf, variablesOf, type Group } from '../../src/daemon/configuration/option.ts'

export function knownVariables(): string[] {
  return Object.values<Group>(optionSections(profiles, features)).flatMap(group =>
    rowsOf(group).flatMap(({ option }) => {
      const names = Object.values(profiles).flatMap(profile => variablesOf(option, profile))
      return option.kind.secret ? names.flatMap(name => [name, `${name}_FILE`]) : names
    }),
  )
}
