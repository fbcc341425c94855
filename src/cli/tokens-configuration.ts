// What the token commands work with, from the configuration: the instance, the endpoint that proves tokens, and the store.
import { existsSync, readFileSync } from 'node:fs'
import { EnvHttpProxyAgent } from 'undici'
import { complain, type Terminal } from './terminal.ts'
import { createIngestTokens } from '../tokens/client.ts'
import { createProver } from '../tokens/otlp-proof.ts'
import { defaultDestination, destinationsOf } from '../config/destinations.ts'
import { Misconfigured, requireConfig } from './configuration.ts'
import { openStore } from '../store/open-store.ts'
import { reasonOf } from '../lib/fault.ts'
import { rotationStore } from './tokens-store.ts'
import { systemClock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { Store } from '../store/store.ts'
import type { TokensSetup } from './tokens-setup.ts'

/** For one request, ms. */
const timeoutMs = 10_000

/** Opens what the commands need and closes it after; a store that cannot be opened is done without, and said. */
export async function withTokens(
  terminal: Terminal,
  file: string | undefined,
  command: (setup: TokensSetup) => Promise<number>,
): Promise<number> {
  const { config, tokenFile } = loaded(terminal, file)
  const { url, apiKey, caFile, token } = config.observability
  if (url === undefined) {
    throw new Misconfigured(
      'No observability instance is configured.',
      'Set PIPESPAN_OBSERVABILITY_URL and PIPESPAN_OBSERVABILITY_API_KEY.',
    )
  }
  const proxied = dispatcherOf(config, caFile)
  const traces = destinationsOf(config).find(({ name }) => name === defaultDestination)?.targets.traces
  const proof = dispatcherOf(config, traces?.tls.certificate)
  const instance = createIngestTokens({ url, apiKey: () => apiKey.current(), dispatcher: proxied, timeoutMs })
  const headers = Object.fromEntries([...(traces?.headers() ?? [])].map(([name, value]) => [name, value.reveal()]))
  const prover = createProver({ url: traces?.url ?? `${url}/v1/traces`, headers, dispatcher: proof, timeoutMs })
  const store = await storeOf(config, terminal)
  try {
    return await command({
      instance,
      prove: prover.prove,
      currentToken: () => token.current(),
      tokenFile,
      store: store === undefined ? undefined : rotationStore(store.notes),
      clock: systemClock,
      timeoutMs,
    })
  } finally {
    await Promise.all([instance.close(), prover.close(), proxied.close(), proof.close(), store?.close()])
  }
}

function loaded(terminal: Terminal, file: string | undefined): { config: Config; tokenFile: string | undefined } {
  const { config, settings } = requireConfig(terminal, file)
  const source = settings.find(({ path }) => path === 'observability.token')?.source
  const variable = source?.from === 'environment' && source.variable.endsWith('_FILE') ? source.variable : undefined
  return { config, tokenFile: variable === undefined ? undefined : terminal.env[variable] }
}

function dispatcherOf({ httpProxy, httpsProxy, noProxy }: Config, caFile: string | undefined): EnvHttpProxyAgent {
  const tls = caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }
  return new EnvHttpProxyAgent({
    httpProxy: httpProxy?.reveal() ?? '',
    httpsProxy: httpsProxy?.reveal() ?? '',
    noProxy: noProxy?.join(',') ?? '',
    connect: tls,
    requestTls: tls,
  })
}

/** A rotation job in another pod has no SQLite file: it works without the daemons' reports then, and makes none. */
async function storeOf(config: Config, terminal: Terminal): Promise<Store | undefined> {
  const { url } = config.store
  if (url.engine === 'sqlite' && !existsSync(url.path)) return undefined
  try {
    return await openStore(url, { maxSize: config.store.maxSize })
  } catch (error) {
    complain(terminal, `Working without the store: ${reasonOf(error)}`)
    return undefined
  }
}
