// What the token commands need from the configuration: the instance, an endpoint to test tokens at, and the store.
import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { complain, type Terminal } from './terminal.ts'
import { createIngestTokens } from '../features/tokens/client.ts'
import { commandPauses } from '../features/tokens/pauses.ts'
import { createProver } from '../features/tokens/otlp-proof.ts'
import { destinationsOf, proxiesOf, type ConfiguredDestination } from '../daemon/configuration/destinations.ts'
import { dispatcherFor } from '../core/send/otlp-http.ts'
import { Misconfigured, requireConfig } from './configuration.ts'
import { openStore } from '../core/store/open-store.ts'
import { parseTarget } from '../features/tokens/target.ts'
import { reasonOf } from '../lib/fault.ts'
import { awayStore, rotationStore } from './tokens-store.ts'
import { systemClock } from '../lib/clock.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { Proxies } from '../core/send/destination.ts'
import type { SharedStore } from '../core/store/ports/store.ts'
import type { RotationParts } from '../features/tokens/rotation-session.ts'
import type { Secret } from '../lib/secret.ts'

/** What the token commands need. Tokens are tested at the OTLP endpoint that the daemon exports to. */
export interface TokensSetup extends Pick<RotationParts, 'instance' | 'prove' | 'store' | 'clock'> {
  /** The token that the daemon now sends to that endpoint, read from its variable or file. */
  readonly currentToken: () => Secret | undefined | Promise<Secret | undefined>
  /** The current tokens of all its destinations. */
  readonly tokens: () => readonly Secret[] | Promise<readonly Secret[]>
  /** The files of those that are read from files. */
  readonly tokenFiles: readonly string[]
  /** For one request to the Kubernetes API, ms. */
  readonly timeoutMs: number
}

/** For one request, ms. */
const timeoutMs = 10_000

/**
 * Opens what a command needs, and closes it afterwards. Tokens are tested where the daemon sends them: at the destination
 * whose token file is `target`, else at the first one.
 */
export async function withTokens(
  terminal: Terminal,
  { file, target }: { file: string | undefined; target?: string | undefined },
  command: (setup: TokensSetup) => Promise<number>,
): Promise<number> {
  // The token's file may be missing: it does not exist before the first token was created.
  const { config } = requireConfig(terminal, file, isToken)
  const { url, apiKey, caFile } = config.observability
  if (url === undefined) {
    throw new Misconfigured(
      'No observability instance is configured.',
      'Set PIPESPAN_OBSERVABILITY_URL and PIPESPAN_OBSERVABILITY_API_KEY.',
    )
  }
  const destinations = destinationsOf(config)
  const destination = destinations.find(({ token }) => isAt(token.path, target)) ?? destinations[0]
  if (destination === undefined) {
    throw new Misconfigured(
      'No destination is configured, so no token can be tested.',
      'Set OTEL_EXPORTER_OTLP_ENDPOINT and enable at least one signal.',
    )
  }
  const proxies = proxiesOf(config)
  const toInstance = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxies, 1)
  const instance = createIngestTokens({
    ...{ url, apiKey: () => apiKey.current(), dispatcher: toInstance, timeoutMs },
    retry: { ...commandPauses, clock: systemClock },
  })
  const { prove, close } = proverOf(destination, proxies)
  const store = await storeOf(config, terminal)
  const open = store === 'away' ? undefined : store
  try {
    return await command({
      instance,
      prove,
      currentToken: () => destination.token.current(),
      tokens: () => destinations.flatMap(({ token }) => token.current() ?? []),
      tokenFiles: destinations.flatMap(({ token }) => token.path ?? []),
      store: store === 'away' ? awayStore : store && rotationStore(store.repositories),
      clock: systemClock,
      timeoutMs,
    })
  } finally {
    await Promise.all([toInstance.destroy(), close(), open?.close()])
  }
}

const isToken = (setting: string): boolean => /^(observability|destinations\[\d+\])\.token$/.test(setting)

/** Whether the target is this file, links followed. */
function isAt(path: string | undefined, target: string | undefined): boolean {
  const address = target === undefined ? undefined : parseTarget(target)
  return path !== undefined && address?.kind === 'file' && real(path) === real(address.path)
}

function real(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path)
}

/** Tests tokens with any signal of the destination: an empty export is the same in all of them. */
function proverOf({ targets }: ConfiguredDestination, proxies: Proxies) {
  const [target] = Object.values(targets)
  if (target === undefined) throw new Error('a destination without a signal is no destination')
  const { certificate: caFile, clientCertificate: certFile, clientKey: keyFile } = target.tls
  const endpoint = { timeoutMs: target.timeout, tls: { caFile, certFile, keyFile } }
  const dispatcher = dispatcherFor(new URL(target.url), endpoint, proxies, 1)
  const headers = Object.fromEntries([...target.headers()].map(([name, value]) => [name, value.reveal()]))
  const prove = createProver({ url: target.url, headers, dispatcher, timeoutMs: target.timeout })
  return { prove, close: async () => dispatcher.destroy() }
}

/** Undefined without a SQLite file, as in a rotation job in another pod: it then works without the daemons' reports. */
async function storeOf(config: Config, terminal: Terminal): Promise<SharedStore | 'away' | undefined> {
  const { url } = config.store
  if (url.engine === 'sqlite' && !existsSync(url.path)) return undefined
  try {
    return await openStore(url, { maxSize: config.store.maxSize })
  } catch (error) {
    complain(terminal, `Warning: the store cannot be read to see which tokens are in use: ${reasonOf(error)}`)
    return 'away'
  }
}
