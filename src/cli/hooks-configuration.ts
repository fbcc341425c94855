// What `pipespan hooks` works with, from the configuration: the platform's client, the URL and the secret of the hooks.
import { readFileSync } from 'node:fs'
import { commandLog, Misconfigured, requireConfig } from './configuration.ts'
import { createMemoryBudget } from '../platform/memory-budget.ts'
import { createPlatformClient, type PlatformClient } from '../platform/client.ts'
import { proxiedDispatcher } from '../platform/connection.ts'
import { systemClock } from '../lib/clock.ts'
import { version } from '../lib/version.ts'
import type { Secret } from '../lib/secret.ts'
import type { Terminal } from './terminal.ts'

export interface HooksSetup {
  readonly client: PlatformClient
  /** Where the daemon takes webhooks, where that is configured. */
  readonly url: string | undefined
  readonly secret: Secret
}

/** Closes the client after the command. Throws Misconfigured. */
export async function withHooks(
  terminal: Terminal,
  file: string | undefined,
  command: (setup: HooksSetup) => Promise<number>,
): Promise<number> {
  const { config } = requireConfig(terminal, file)
  const { url, token, tokenType, caFile, budget } = config.platform
  const [secret] = config.webhook.token.current() ?? []
  if (url === undefined || token.current() === undefined) {
    throw new Misconfigured(
      'The platform is not configured.',
      'Set PIPESPAN_PLATFORM_URL, and PIPESPAN_PLATFORM_TOKEN to a token that may edit hooks (scope api, role Maintainer).',
    )
  }
  if (secret === undefined) {
    throw new Misconfigured(
      'No secret is configured that the hooks could have.',
      'Set PIPESPAN_WEBHOOK_TOKEN as the daemon has it; of several the first is written.',
    )
  }
  const proxies = {
    http: config.httpProxy?.reveal(),
    https: config.httpsProxy?.reveal(),
    no: config.noProxy?.join(','),
  }
  const client = createPlatformClient({
    url,
    token: () => token.current()?.reveal(),
    tokenType,
    ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    dispatcher: proxiedDispatcher(url, proxies),
    budget: createMemoryBudget({ perMinute: budget }, systemClock),
    concurrency: 2,
    userAgent: `Pipespan/${version}`,
    clock: systemClock,
    log: commandLog(terminal, config),
  })
  try {
    const { publicUrl } = config
    return await command({
      client,
      url: publicUrl === undefined ? undefined : `${publicUrl.replace(/\/+$/, '')}/webhooks`,
      secret,
    })
  } finally {
    await client.close()
  }
}
