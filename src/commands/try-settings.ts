// The settings of the daemon that `pipespan try` starts, and a configuration that people can keep for their own daemon.
import path from 'node:path'
import { stringify } from 'yaml'
import type { FoundTarget, TryTarget } from './try-target.ts'

interface TryPlaces {
  readonly url: TryTarget['url']
  readonly found: Pick<FoundTarget, 'is' | 'name'>
  /** The folder of the store. */
  readonly folder: string
  readonly port: number
  readonly adminPort: number
  /** The webhook token. Any random value will do, because no platform sends webhooks to this daemon. */
  readonly webhookToken: string
}

const endpoint = /^OTEL_EXPORTER_OTLP_((TRACES|METRICS|LOGS)_)?ENDPOINT$/

/** Whether the environment contains a backend endpoint. Without one, nothing is exported. */
export function hasEndpoint(env: NodeJS.ProcessEnv): boolean {
  return Object.entries(env).some(([name, value]) => endpoint.test(name) && value !== undefined && value !== '')
}

/** Returns only the settings that are needed to send requests to the platform. `token` is a token that the user typed. */
export function platformSettings(env: NodeJS.ProcessEnv, url: string, token: string | undefined): NodeJS.ProcessEnv {
  return {
    ...inherited(env),
    PIPESPAN_PLATFORM_URL: url,
    ...(token !== undefined && { PIPESPAN_PLATFORM_TOKEN: token }),
  }
}

/** Returns the daemon's environment. `env` is the result of `platformSettings`. */
export function trySettings(env: NodeJS.ProcessEnv, places: TryPlaces): NodeJS.ProcessEnv {
  const { found, folder, port, adminPort, webhookToken } = places
  return {
    ...env,
    ...(!hasEndpoint(env) && { PIPESPAN_OBSERVABILITY_EXPORT: 'none' }),
    [scopeOf(found).variable]: found.name,
    PIPESPAN_LISTEN: `127.0.0.1:${port}`,
    PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'pipespan.db')}`,
    PIPESPAN_WEBHOOK_TOKEN: webhookToken,
    PIPESPAN_POLL_LOOKBACK: '24h',
    PIPESPAN_POLL_RUNNING: 'true',
    PIPESPAN_POLL_INTERVAL: '10s',
    // A running pipeline counts as silent after only 10 s, because no webhook reports its progress and the daemon must poll for it.
    PIPESPAN_SILENT_AFTER: '10s',
    PIPESPAN_LOG_LEVEL: 'warn',
    PIPESPAN_LOG_FORMAT: 'pretty',
    // The compile cache is disabled because the command must leave no files behind.
    NODE_DISABLE_COMPILE_CACHE: '1',
  }
}

/** Returns the user's environment. Of Pipespan's own variables, it keeps only those for connecting to the platform and the backend. */
function inherited(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !/^PIPESPAN_(?!PLATFORM_|OBSERVABILITY_)/.test(name))
  return Object.fromEntries(
    hasEndpoint(env) ? others : others.filter(([name]) => !name.endsWith('_OBSERVABILITY_EXPORT')),
  )
}

function scopeOf({ is }: Pick<FoundTarget, 'is'>) {
  return is === 'project'
    ? { key: 'projects', variable: 'PIPESPAN_POLL_PROJECTS' }
    : { key: 'groups', variable: 'PIPESPAN_POLL_GROUPS' }
}

/** Returns a configuration for the user to copy, as variables and as YAML, without secrets. `kept` is the folder of the store, if it is kept. */
export function configurationToKeep(
  env: NodeJS.ProcessEnv,
  { url, found, kept }: Pick<TryPlaces, 'url' | 'found'> & { readonly kept: string | undefined },
): string {
  const exports = hasEndpoint(env)
  const profile = env.PIPESPAN_PLATFORM_PROFILE
  const store = kept === undefined ? undefined : `sqlite:${path.join(kept, 'pipespan.db')}`
  const scope = scopeOf(found)
  const variables: readonly (readonly [string, string | undefined])[] = [
    ['PIPESPAN_PLATFORM_URL', url],
    ['PIPESPAN_PLATFORM_PROFILE', profile],
    [scope.variable, found.name],
    ['PIPESPAN_STORE_URL', store],
    ['PIPESPAN_OBSERVABILITY_EXPORT', exports ? undefined : 'none'],
  ]
  const yaml = stringify({
    platform: { url, ...(profile && { profile }), token_file: 'platform-token' },
    poll: { [scope.key]: [found.name] },
    ...(store !== undefined && { store: { url: store } }),
    ...(!exports && { observability: { export: 'none' } }),
  })
  return [
    'To keep it running, start a daemon with these variables:',
    '',
    ...variables.flatMap(([name, value]) => (value === undefined ? [] : [`  export ${name}=${quotedForShell(value)}`])),
    '  export PIPESPAN_PLATFORM_TOKEN=…',
    '  npx pipespan serve',
    '',
    'Or with this pipespan.yaml, and the token in the file platform-token (`npx pipespan --config pipespan.yaml serve`):',
    '',
    ...yaml
      .trimEnd()
      .split('\n')
      .map(line => `  ${line}`),
    '',
    exports
      ? 'The daemon exports to the same backend if you set the same OTEL_EXPORTER_OTLP_… variables.'
      : 'To export, replace `none` with your signals (traces,metrics,logs) and set OTEL_EXPORTER_OTLP_ENDPOINT.',
  ].join('\n')
}

function quotedForShell(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
