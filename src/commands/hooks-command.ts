// Runs `pipespan hooks ensure` with values from the configuration: the platform's client, and the webhooks' URL and secrets.
import { chosenPlatform, commandLog, requireConfig, storeIfAny } from './configuration.ts'
import { Misconfigured } from '../lib/command-line.ts'
import { connectPlatform } from '../daemon/platform.ts'
import { hookEventsOf } from './platform.ts'
import { hooksEnsure, type HooksEnsureOptions } from './hooks.ts'
import { misuse } from '../lib/command-line.ts'
import { systemClock } from '../lib/clock.ts'
import type { Terminal } from '../lib/terminal.ts'

export interface EnsureOptions extends Pick<
  HooksEnsureOptions,
  'allProjects' | 'oldUrl' | 'writeSecret' | 'dryRun' | 'json'
> {
  readonly project: readonly string[]
  readonly group: readonly string[]
  readonly platform?: string
  /** The webhook URL; by default, the URL in the configuration. */
  readonly url?: string
}

/** Creates or repairs the webhooks. Throws a misuse error for wrong arguments, or Misconfigured. */
export async function ensureHooks(
  terminal: Terminal,
  file: string | undefined,
  { project: projects, group: groups, platform: platformName, url: given, ...options }: EnsureOptions,
): Promise<number> {
  if (projects.length + groups.length === 0 && !options.allProjects) {
    throw misuse('Give --project, --group or --all-projects.')
  }
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
        "Set PIPESPAN_WEBHOOK_TOKEN and PIPESPAN_WEBHOOK_SIGNING_TOKEN to the daemon's values. If a variable lists several secrets, the first one is written.",
      )
    }
    const { client } = platform
    const { publicUrl } = config
    const url = given ?? (publicUrl && `${publicUrl.replace(/\/+$/, '')}/webhooks`)
    try {
      if (url === undefined) throw misuse('Give --url, or set PIPESPAN_PUBLIC_URL.')
      const secrets = { token, signingToken }
      const events = hookEventsOf(config.events)
      return await hooksEnsure(client, { ...options, projects, groups, url, secrets, events }, terminal)
    } finally {
      await client.close()
    }
  } finally {
    await store?.close()
  }
}
