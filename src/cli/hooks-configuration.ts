// What `pipespan hooks` needs from the configuration: the platform's client, the URL and the secrets of the hooks.
import { chosenPlatform, commandLog, Misconfigured, requireConfig, storeIfAny } from './configuration.ts'
import { connectPlatform } from '../app/platform.ts'
import { hookEventsOf } from './platform.ts'
import type { HookEvents } from '../platform/port/webhook.ts'
import { systemClock } from '../lib/clock.ts'
import type { HookSecrets } from './hooks.ts'
import type { PlatformClient } from '../platform/port.ts'
import type { Terminal } from './terminal.ts'

export interface HooksSetup {
  readonly client: PlatformClient
  /** The daemon's webhook URL, if it is configured. */
  readonly url: string | undefined
  readonly secrets: HookSecrets
  /** The events that the daemon exports. */
  readonly events: HookEvents
}

/** Closes the client after the command. Throws Misconfigured. */
export async function withHooks(
  terminal: Terminal,
  file: string | undefined,
  platformName: string | undefined,
  command: (setup: HooksSetup) => Promise<number>,
): Promise<number> {
  const view = chosenPlatform(requireConfig(terminal, file).config, platformName)
  const { config } = view
  const [token] = config.webhook.token.current() ?? []
  const [signingToken] = config.webhook.signingToken.current() ?? []
  const log = commandLog(terminal, config)
  const store = await storeIfAny(config, log)
  try {
    const platform = connectPlatform(view, store, systemClock, log)
    if (platform === undefined) {
      throw new Misconfigured(
        'The platform is not configured.',
        'Set PIPESPAN_PLATFORM_URL, and PIPESPAN_PLATFORM_TOKEN to a token that may edit hooks (scope api, role Maintainer).',
      )
    }
    if (token === undefined && signingToken === undefined) {
      throw new Misconfigured(
        'No webhook secret is configured.',
        "Set PIPESPAN_WEBHOOK_TOKEN and PIPESPAN_WEBHOOK_SIGNING_TOKEN to the daemon's values; of several, the first is written.",
      )
    }
    const { client } = platform
    const { publicUrl } = config
    const url = publicUrl === undefined ? undefined : `${publicUrl.replace(/\/+$/, '')}/webhooks`
    try {
      return await command({ client, url, secrets: { token, signingToken }, events: hookEventsOf(config.events) })
    } finally {
      await client.close()
    }
  } finally {
    await store?.close()
  }
}
