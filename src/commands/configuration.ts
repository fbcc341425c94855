// Loads the configuration, chooses the platform and opens the store for a command. If that fails, the command prints what is wrong and exits.
import { existsSync } from 'node:fs'
import { createLog } from '../lib/log.ts'
import { describeFault } from '../daemon/configuration/config-fault.ts'
import { features } from '../features.ts'
import { tablesOf } from '../daemon/feature.ts'
import { Misconfigured } from '../lib/command-line.ts'
import { reasonOf, StoreError } from '../lib/fault.ts'
import { loadConfig, type LoadedConfig, type LoadOptions } from '../daemon/configuration/load.ts'
import { openStore } from '../core/store/open-store.ts'
import { sendsNothing } from '../core/store/ports/outbox.ts'
import { platformViews, type PlatformView } from '../daemon/configuration/platforms.ts'
import { profiles, type ProfileName } from '../daemon/profile.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { Log } from '../lib/log.ts'
import type { Terminal } from '../lib/terminal.ts'
import type { SharedStore } from '../core/store/ports/store.ts'

/** Loads the configuration for a command that does not listen on a port. Throws Misconfigured. `mayBeMissing` is explained in LoadOptions. */
export function requireConfig(
  terminal: Terminal,
  file: string | undefined,
  mayBeMissing?: LoadOptions<ProfileName>['mayBeMissing'],
): LoadedConfig<ProfileName> {
  const loaded = loadConfig({ env: terminal.env, file, profiles, features, mayBeMissing, listens: false })
  if (loaded.ok) return loaded
  throw new Misconfigured(
    loaded.faults.map(fault => describeFault(fault)).join('\n'),
    '\nThe configuration is invalid. See `pipespan config check`.',
  )
}

/**
 * Returns the selected platform. `name` is the value of `--platform`. If the option is required but missing, it throws Misconfigured with all
 * platform names.
 */
export function chosenPlatform<P extends string>(config: Config<P>, name: string | undefined): PlatformView<P> {
  const views = platformViews(config)
  const found = name === undefined && views.length === 1 ? views[0] : views.find(view => view.name === name)
  if (found !== undefined) return found
  const names = views.map(view => view.name).join(', ')
  throw new Misconfigured(
    name === undefined
      ? 'Several platforms, or several tokens of one platform, are configured.'
      : `There is no platform ${name}.`,
    `Name one with --platform: ${names}.`,
  )
}

/** Opens the configured store for one command, alongside a running daemon. */
export async function withStore(
  terminal: Terminal,
  file: string | undefined,
  command: (store: SharedStore, config: Config<ProfileName>) => Promise<number>,
): Promise<number> {
  const { config } = requireConfig(terminal, file)
  const { url } = config.store
  if (url.engine === 'sqlite' && !existsSync(url.path)) {
    throw new StoreError(
      `There is no store at ${url.path} yet.`,
      'Start the daemon first, or point PIPESPAN_STORE_URL or --config to its store.',
    )
  }
  const store = await openStore(url, { maxSize: config.store.maxSize, parts: tablesOf(features), encode: sendsNothing })
  try {
    return await command(store, config)
  } finally {
    await store.close()
  }
}

/** Returns the configured store if it exists and can be opened. Commands use it to share the API budget with the daemon. */
export async function storeIfAny({ store: { url, maxSize } }: Config, log: Log): Promise<SharedStore | undefined> {
  if (url.engine === 'sqlite' && !existsSync(url.path)) return undefined
  try {
    return await openStore(url, { maxSize, parts: tablesOf(features), encode: sendsNothing })
  } catch (error) {
    log.warn(
      { reason: reasonOf(error) },
      'the store cannot be opened; this command does not share its API budget with the daemon',
    )
    return undefined
  }
}

/** Creates a command's log, which is written to standard error as configured. */
export function commandLog(terminal: Terminal, config: Config): Log {
  const format = config.log.format ?? (terminal.stderr.isTTY === true ? 'pretty' : 'json')
  return createLog({ level: config.log.level, format })
}
