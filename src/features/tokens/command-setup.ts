// Sets up the token commands from the configuration: the instance, an endpoint for testing tokens, and the store. Also defines their exit codes.
import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { complain, exitCode, type Terminal } from '../../lib/terminal.ts'
import { createIngestTokens } from './client.ts'
import { createProver, type Prove } from './otlp-proof.ts'
import { dispatcherFor } from '../../core/send/otlp-http.ts'
import { Misconfigured } from '../../lib/command-line.ts'
import { parseTarget } from './target.ts'
import { reasonOf } from '../../lib/fault.ts'
import { awayStore, rotationStore } from './rotation-store.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Surroundings } from '../../daemon/feature.ts'
import type { CommandSurroundings, ConfiguredLine } from '../../daemon/feature-commands.ts'
import { bearerTokensOf, type Destination } from '../../core/send/destination.ts'
import type { TokenOptions } from './options.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'
import type { RotationParts } from './rotation-session.ts'
import type { Secret } from '../../lib/secret.ts'

/** The exit codes of the token commands. They are documented in docs/token-rotation.md. */
export const tokensExit = {
  ...exitCode,
  /** The target has the new token, but a daemon has not reported that it uses it. The older tokens remain valid. */
  kept: 3,
  /** Another rotation of the same target is in progress. */
  busy: 4,
  /** The command was not executed, because telemetry would have been lost. */
  refused: 5,
} as const

export function refuse(terminal: Terminal, reason: string): number {
  complain(terminal, reason)
  return tokensExit.refused
}

/** The parts that the token commands use. Tokens are tested at the OTLP endpoint that the daemon exports to. */
export interface TokensSetup extends Pick<RotationParts, 'instance' | 'prove' | 'store' | 'clock'> {
  readonly senders: readonly TokenSender[]
  readonly tokenFiles: readonly string[]
  /** The timeout of one request to the Kubernetes API, ms. */
  readonly timeoutMs: number
}

/** One of the daemon's destinations, with the tokens that it sends there. */
export interface TokenSender {
  /** The name of the destination. */
  readonly name: string
  /** Returns the current tokens, read from variables or files. */
  readonly tokens: () => readonly Secret[] | Promise<readonly Secret[]>
  readonly prove: Prove
}

/** The timeout of one request, ms. */
const timeoutMs = 10_000

/**
 * Opens the store and the connections that a command needs, and closes them afterwards. Tokens are tested at the destination whose token file is
 * `target`, or, if there is none, at the first destination.
 */
export async function withTokens(
  { terminal, configured }: ConfiguredLine<TokenOptions>,
  target: string | undefined,
  command: (setup: TokensSetup) => Promise<number>,
): Promise<number> {
  // The token file may be missing, because it does not exist before the first token is created.
  const { config, destinations, options, proxies, openStore } = await configured(isToken)
  const { url, apiKey, caFile } = options.observability
  if (url === undefined) {
    throw new Misconfigured(
      'No observability instance is configured.',
      'Set PIPESPAN_OBSERVABILITY_URL and PIPESPAN_OBSERVABILITY_API_KEY.',
    )
  }
  const destination = destinations.find(({ bearer }) => isAt(bearer?.file, target)) ?? destinations[0]
  if (destination === undefined) {
    throw new Misconfigured(
      'No destination is configured, so no token can be tested.',
      'Set OTEL_EXPORTER_OTLP_ENDPOINT and enable at least one signal.',
    )
  }
  const toInstance = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxies, 1)
  const instance = createIngestTokens({
    ...{ url, apiKey: () => apiKey.current(), dispatcher: toInstance, timeoutMs },
    retryClock: systemClock,
  })
  const provers = new Map(destinations.map(one => [one, proverOf(one)]))
  const store = await storeOf(config, openStore, terminal)
  const open = store === 'away' ? undefined : store
  try {
    return await command({
      instance,
      prove: proverOf(destination).prove,
      senders: [...provers].map(([one, { prove }]) => ({ name: one.name, tokens: () => bearerTokensOf(one), prove })),
      tokenFiles: destinations.flatMap(({ bearer }) => bearer?.file ?? []),
      store: store === 'away' ? awayStore : store && rotationStore(store.repositories),
      clock: systemClock,
      timeoutMs,
    })
  } finally {
    await Promise.all([toInstance.destroy(), ...[...provers.values()].map(async ({ close }) => close()), open?.close()])
  }
}

const isToken = (setting: string): boolean => /^(observability|destinations\[\d+\])\.token$/.test(setting)

/** Whether the token file at `path` is the target. Symbolic links are followed. */
function isAt(path: string | undefined, target: string | undefined): boolean {
  const address = target === undefined ? undefined : parseTarget(target)
  return path !== undefined && address?.kind === 'file' && real(path) === real(address.path)
}

function real(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path)
}

/** Tests tokens with an empty export. Any signal of the destination can be used, because an empty export is the same for all of them. */
function proverOf({ signals, proxy = {} }: Destination) {
  const [endpoint] = Object.values(signals)
  if (endpoint === undefined) throw new Error('a destination without a signal is no destination')
  const { url, timeoutMs } = endpoint
  const dispatcher = dispatcherFor(new URL(url), endpoint, proxy, 1)
  const headers = Object.fromEntries(Object.entries(endpoint.headers).map(([name, value]) => [name, value.reveal()]))
  return { prove: createProver({ url, headers, dispatcher, timeoutMs }), close: async () => dispatcher.destroy() }
}

/** Returns undefined if there is no SQLite file, as in a rotation job in another pod. The rotation then works without reports from the daemons. */
async function storeOf(
  config: Surroundings['config'],
  openStore: CommandSurroundings<TokenOptions>['openStore'],
  terminal: Terminal,
): Promise<SharedStore | 'away' | undefined> {
  const { url } = config.store
  if (url.engine === 'sqlite' && !existsSync(url.path)) return undefined
  try {
    return await openStore()
  } catch (error) {
    complain(terminal, `Warning: the store cannot be read to see which tokens are in use: ${reasonOf(error)}`)
    return 'away'
  }
}
