// Checks that involve several settings. They run after all settings have been read, and return faults, and warnings about settings that are allowed
// but probably unintended.
import type { ConfigFault, FaultOf, Source, Wrong } from './config-fault.ts'
import { isLoopback, listenAddress } from './address-kinds.ts'
import { suspiciousDestinations, wrongDestinations } from './destination-checks.ts'
import { signals } from './telemetry-options.ts'
import { unknownGrouping, wrongAttributeRules } from './attribute-checks.ts'
import { wrongPair } from './secret-kinds.ts'
import { platformViews } from './platforms.ts'
import { ambiguousPlatforms, unknownPlatforms, wrongPlatforms } from './platform-checks.ts'
import type { Config, HasOptions } from './options.ts'
import { LiveSecret } from './live-secret.ts'
import { variablesOf, type ProfileVariables } from './option.ts'
import type { Setting } from './reader.ts'

export interface Checked {
  readonly config: Config
  readonly settings: readonly Setting[]
  /** Whether this process will listen on a port. Most commands do not, so they cannot be reached from outside. */
  readonly listens: boolean
  readonly profile: ProfileVariables
  readonly features: readonly HasOptions[]
}

interface Check {
  /** The settings that the check concerns. The fault is reported at the first of these settings that has a value. */
  readonly of: readonly string[]
  readonly find: (config: Config) => Wrong | undefined
  /** Whether the check applies only to processes that listen on a port. */
  readonly ofListeners?: true
}

/** Creates a check from a predicate. `what` is the fault's message, which may depend on the configuration. */
function wrongIf(
  of: readonly string[],
  isWrong: (config: Config) => boolean,
  what: string | ((config: Config) => string),
  remedy: string,
): Check {
  const sentence = typeof what === 'string' ? () => what : what
  return { of, find: config => (isWrong(config) ? { what: sentence(config), remedy } : undefined) }
}

/** Creates a check from a predicate. The check applies only to processes that listen on a port. */
const wrongIfListening: typeof wrongIf = (...given) => ({ ...wrongIf(...given), ofListeners: true })

const hasToken = (config: Config): boolean =>
  platformViews(config).some(({ config: { platform } }) => platform.token.current() !== undefined)
const isPolled = (config: Config): boolean =>
  platformViews(config).some(({ config: { poll } }) => (poll.projects ?? []).length + (poll.groups ?? []).length > 0)
const readsHooks = ({ redelivery, watchHooks }: Config): boolean => redelivery || watchHooks

const checks: readonly Check[] = [
  {
    of: ['tls.cert_file', 'tls.key_file'],
    find: ({ tls }) => wrongPair(['tls.cert_file', tls.certFile], ['tls.key_file', tls.keyFile]),
  },
  wrongIfListening(
    ['listen', 'webhook.token', 'webhook.signing_token'],
    ({ listen, webhook, platforms }) =>
      platforms.length === 0 &&
      !isLoopback(listen) &&
      (webhook.token.current() ?? webhook.signingToken.current()) === undefined,
    ({ listen }) =>
      `Anyone who can reach ${listenAddress.show(listen)} could post webhooks: there is no webhook secret.`,
    'Set webhook.signing_token (PIPESPAN_WEBHOOK_SIGNING_TOKEN) or webhook.token (PIPESPAN_WEBHOOK_TOKEN), ' +
      'or listen on a loopback address such as 127.0.0.1:8080.',
  ),
  wrongIf(
    ['admin.trusted_header', 'admin.people'],
    ({ admin }) => (admin.trustedHeader === undefined) !== (admin.people.length === 0),
    ({ admin }) =>
      admin.trustedHeader === undefined
        ? 'admin.people has no effect without admin.trusted_header.'
        : 'Nobody may open the pages: admin.people is empty.',
    'Set both, or neither.',
  ),
  wrongIf(
    ['platform.token', 'platform.url'],
    ({ platform, platforms }) =>
      platforms.length === 0 && platform.token.current() !== undefined && platform.url === undefined,
    'A platform token is set, but no platform URL.',
    'Set platform.url (PIPESPAN_PLATFORM_URL).',
  ),
  wrongIf(
    ['redelivery', 'watch_hooks', 'public_url', 'poll.projects', 'poll.groups'],
    config => readsHooks(config) && config.publicUrl !== undefined && !isPolled(config),
    ({ redelivery }) =>
      `${redelivery ? 'Redelivery' : 'watch_hooks'} reads the webhooks of polled projects and groups, but none are configured.`,
    'Set poll.projects (PIPESPAN_POLL_PROJECTS) or poll.groups (PIPESPAN_POLL_GROUPS).',
  ),
  wrongIfListening(
    ['admin.listen', 'admin.token', 'pages.enabled', 'metrics.open'],
    ({ admin, pages, metrics }) =>
      !isLoopback(admin.listen) && admin.token.current() === undefined && (pages.enabled || !metrics.open),
    ({ admin, pages }) =>
      `Anyone who can reach ${listenAddress.show(admin.listen)} could ${pages.enabled ? 'open the pages and retry or drop exports' : 'read /metrics'}: there is no admin token.`,
    'Set admin.token (PIPESPAN_ADMIN_TOKEN), or listen on a loopback address such as 127.0.0.1:8081.',
  ),
  wrongIfListening(
    ['admin.listen', 'listen'],
    ({ listen, admin }) => listen.port !== 0 && listen.port === admin.listen.port && listen.host === admin.listen.host,
    'Both listeners have the same address.',
    'Use a different port for one of them.',
  ),
  {
    of: ['otlp.client_key', 'otlp.client_certificate'],
    find: ({ otlp }) =>
      wrongPair(['otlp.client_certificate', otlp.clientCertificate], ['otlp.client_key', otlp.clientKey]),
  },
  ...signals.map((signal): Check => ({
    of: [`otlp.${signal}.client_key`, `otlp.${signal}.client_certificate`],
    find: ({ otlp }) => {
      const { clientKey, clientCertificate } = otlp[signal]
      if (clientKey === undefined && clientCertificate === undefined) return undefined
      return wrongPair(
        [`otlp.${signal}.client_certificate`, clientCertificate ?? otlp.clientCertificate],
        [`otlp.${signal}.client_key`, clientKey ?? otlp.clientKey],
      )
    },
  })),
]

/** Returns faults about settings that have no effect because another setting is missing. */
function missingNeeds({ config, settings, profile }: Checked, faultOf: FaultOf): ConfigFault[] {
  const byPath = new Map(settings.map(one => [one.path, one]))
  const nameOf = ({ path, option }: Setting): string => {
    const [variable] = variablesOf(option, profile).slice(-1)
    return variable === undefined ? path : `${path} (${variable})`
  }
  return settings.filter(isOn).flatMap(one => {
    const [item = ''] = /^.*\]\./.exec(one.path) ?? []
    for (const [path, what] of Object.entries(one.option.spec.needs ?? {})) {
      // If several platforms are configured, `platform-checks.ts` checks the tokens of each platform.
      const other = byPath.get(item + path)
      if (other === undefined || (path === 'platform.token' ? hasToken(config) : isOn(other))) continue
      const remedy = `${other.value === false ? 'Turn on' : 'Set'} ${nameOf(other)}, or remove ${nameOf(one)}.`
      return [faultOf(one.path, what, remedy)]
    }
    return []
  })
}

function isOn({ value }: Setting): boolean {
  const current: unknown = value instanceof LiveSecret ? (value as LiveSecret<unknown>).current() : value
  return Array.isArray(current) ? current.length > 0 : current !== undefined && current !== false
}

export function crossChecks(checked: Checked): { faults: ConfigFault[]; warnings: string[] } {
  const { config, settings, listens, profile, features } = checked
  const sources = new Map(settings.map(({ path, source }) => [path, source]))
  const sourceOf = (setting: string): Source => sources.get(setting) ?? { from: 'default' }
  const faultOf: FaultOf = (setting, what, remedy) => ({ setting, source: sourceOf(setting), what, remedy })
  const faults = checks.flatMap(({ of, find, ofListeners }) => {
    const wrong = listens || ofListeners !== true ? find(config) : undefined
    const setting = of.find(path => sourceOf(path).from !== 'default') ?? of[0] ?? ''
    return wrong === undefined ? [] : [faultOf(setting, wrong.what, wrong.remedy)]
  })
  const unreported = Object.assign({}, ...features.map(one => one.unreported?.(config as never))) as object
  return {
    faults: [
      ...missingNeeds(checked, faultOf),
      ...faults,
      ...unreachableRules(config, faultOf),
      ...wrongAttributeRules(config, faultOf, profile),
      ...wrongDestinations(config, faultOf),
      ...wrongPlatforms(config, settings, faultOf),
      ...unknownPlatforms(config, settings, features, faultOf),
      ...features.flatMap(one => one.faults?.(config as never, faultOf) ?? []),
    ],
    warnings: [
      ...(listens ? noSecret(config) : []),
      ...exceeding(config),
      ...suspiciousDestinations(config, sourceOf),
      ...unknownGrouping(config, sourceOf),
      ...ambiguousPlatforms(config, settings),
      ...features.flatMap(one => one.warnings?.(config as never, unreported) ?? []),
    ],
  }
}

/**
 * Returns a fault for each cost rule that is never used. The first matching rule applies, so a rule that matches every job hides all rules after it.
 */
function unreachableRules({ costs: { rules } }: Config, faultOf: FaultOf): ConfigFault[] {
  const first = rules.findIndex(({ match: { tags = [], type = '', project = [] } }) =>
    [tags, type, project].every(({ length }) => length === 0),
  )
  const what = `This rule is never used: costs.rules[${first}], which comes before it, matches every job.`
  const remedy = 'Move this rule before that rule, or add a match to that rule.'
  return rules.flatMap((_, index) =>
    first === -1 || index <= first ? [] : [faultOf(`costs.rules[${index}].name`, what, remedy)],
  )
}

/**
 * Warns about a missing webhook secret. On a loopback address no secret is required, but every user and process on the machine can reach the
 * listener.
 */
function noSecret({ listen, webhook, platforms }: Config): string[] {
  const isOpen = (webhook.token.current() ?? webhook.signingToken.current()) === undefined
  // With several platforms, deliveries without a secret are rejected, so no warning is needed.
  if (platforms.length > 0 || !isLoopback(listen) || !isOpen) return []
  return [
    `webhook.token: There is no webhook secret, so any process on this machine can post webhooks to ` +
      `${listenAddress.show(listen)}. Set webhook.signing_token or webhook.token.`,
  ]
}

/** Returns a warning for each SDK setting whose value exceeds another setting that limits it. The SDK then uses the lower of the two values. */
function exceeding({ self: { sdk } }: Config): string[] {
  const pairs = [
    ['OTEL_METRIC_EXPORT_TIMEOUT', sdk.metricExportTimeout, 'OTEL_METRIC_EXPORT_INTERVAL', sdk.metricExportInterval],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', sdk.bspMaxExportBatchSize, 'OTEL_BSP_MAX_QUEUE_SIZE', sdk.bspMaxQueueSize],
  ] as const
  return pairs
    .filter(([, value, , max]) => value !== undefined && max !== undefined && value > max)
    .map(
      ([name, , other]) => `${name}: It exceeds ${other}, whose value is used for both. Lower it, or raise ${other}.`,
    )
}
