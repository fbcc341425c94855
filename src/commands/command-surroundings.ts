// The context of the features' commands: the configuration, the store, the platforms, and a daemon that only exports.
import { ConfigError } from '../lib/fault.ts'
import { chosenPlatform, commandLog, requireConfig } from './configuration.ts'
import { connectPlatform } from '../daemon/platform.ts'
import { createEvents } from '../daemon/events.ts'
import { createSelection } from '../core/take-in/selection.ts'
import { encoderOf, exportDestinations, surroundingsOf } from '../daemon/export.ts'
import { features } from '../features.ts'
import { openStore } from '../core/store/open-store.ts'
import { platformNames } from '../daemon/connections.ts'
import { systemClock } from '../lib/clock.ts'
import { takingOf } from '../daemon/processing.ts'
import { tablesOf, type Feature } from '../daemon/feature.ts'
import type { CommandSurroundings, ConfiguredLine } from '../daemon/feature-commands.ts'
import type { CommandLine } from '../lib/command-line.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { ProfileName } from '../daemon/profile.ts'

/** Creates the context of the features' commands. Throws Misconfigured. */
export function commandSurroundings(
  { terminal, file }: Pick<CommandLine, 'terminal' | 'file'>,
  ...mayBeMissing: Parameters<ConfiguredLine<never>['configured']>
): CommandSurroundings<never> {
  const { config } = requireConfig(terminal, file(), ...mayBeMissing)
  return {
    ...{ ...surroundingsOf(config, features), options: config as never },
    openStore: async () =>
      openStore(config.store.url, {
        ...{ maxSize: config.store.maxSize, parts: tablesOf(features), encode: encoderOf(config, features) },
      }),
    platform: name => {
      const view = chosenPlatform(config, name)
      return {
        ...view,
        connect: store => {
          const platform = connectPlatform(view, store, systemClock, commandLog(terminal, config))
          if (platform === undefined) throw noPlatform()
          // Nothing in a command's process listens for the daemon's internal events. A running daemon polls the store, and so finds the data that the
          // command has stored.
          const taking = takingOf({
            ...{ config: view.config, store, events: createEvents(), clock: systemClock },
            selection: createSelection(view.config, platformNames(view.config)),
            queues: exportDestinations(view.config, features).queues,
          })
          return { client: platform.client, budget: platform.budget, taking }
        },
      }
    },
    startExporting: async () => {
      const { startDaemon } = await import('../daemon/daemon.ts')
      const log = commandLog(terminal, config)
      return startDaemon({ config: withoutListeners(config), features: features.map(withoutReaders), log })
    },
  }
}

function noPlatform(): ConfigError {
  const remedy = 'Set PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN, with a token that has the scope read_api.'
  return new ConfigError('No platform is configured.', remedy)
}

/** Returns the feature without the functions that read from platforms, because a daemon that only exports must not do so. */
function withoutReaders({ perToken: _, ...feature }: Feature): Feature {
  return feature
}

/** Returns the configuration with listeners on random loopback ports and without discovery. */
function withoutListeners(config: Config<ProfileName>): Config<ProfileName> {
  const closed = { host: '127.0.0.1', port: 0 }
  const nothing = { projects: [], groups: [], mine: false, crossProject: false }
  return {
    ...config,
    listen: closed,
    admin: { ...config.admin, listen: closed },
    poll: { ...config.poll, ...nothing },
    platforms: config.platforms.map(one => ({ ...one, poll: { ...one.poll, ...nothing } })),
    redelivery: false,
    watchHooks: false,
  }
}
