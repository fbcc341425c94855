// The table of all core options. The YAML keys, --help, the reference and the schema for editors are generated from it. For example, the option at
// `store.maxSize` is `store.max_size` in YAML and PIPESPAN_STORE_MAX_SIZE in the environment.
import { attributes } from './pair-kinds.ts'
import { boolean, byteSize, duration, oneOf, path, text, decimal, rateName } from './plain-kinds.ts'
import { eventOptions, selectionOptions, redact } from './selection-options.ts'
import {
  destinations,
  observabilityOptions,
  jobMetricsOption,
  metricOptions,
  otlpOptions,
  selfOptions,
} from './telemetry-options.ts'
import {
  enrichDeadline,
  platformOptions,
  pollingOptions,
  ofEachPlatform,
  severalPlatforms,
} from './platform-options.ts'
import { list } from './list-kinds.ts'
import { listeningOptions, pageOptions, traceLink } from './listening-options.ts'
import { projectPatterns } from './project-kinds.ts'
import { proxyUrl, storeUrl } from './address-kinds.ts'
import { secretList, signingTokens } from './secret-kinds.ts'
import {
  secretSetting,
  setting,
  joinedGroups,
  named,
  type ConfigOf,
  type Group,
  type Intersection,
  type Profiles,
  type Sections,
  Each,
} from './option.ts'
import type { ConfigFault, FaultOf } from './config-fault.ts'

/** The options for the price per job minute, depending on the runner that ran the job. */
const costOptions = {
  unit: setting(text, { default: 'min', example: 'EUR' }).describe(
    'Unit of all prices, e.g. a currency; also the unit of the cost metric.',
  ),
  rules: new Each(
    {
      name: setting(rateName, { required: true }).describe(
        'Name of the rate in metrics; several rules may share a name.',
      ),
      match: {
        tags: setting(list).describe('Tags of the runner, or requested by the job; all must match.'),
        type: setting(oneOf(['instance_type', 'group_type', 'project_type'])).describe('Runner type.'),
        project: setting(projectPatterns).describe('Patterns of the full project path.'),
      },
      perMinute: setting(decimal, { default: '1' }).describe('Price per minute.'),
      factor: setting(decimal, { default: '1' }).describe('Factor by which the minutes are multiplied.'),
    },
    'The price table: cost = minutes × per_minute × factor, using the first rule whose conditions all match; a rule without `match` matches every job. Jobs that no rule matches are counted as `unpriced`. Without rules no costs are computed.',
  ),
}

const webhookOptions = {
  token: secretSetting(secretList, { protects: true }).describe(
    'Secret token of the webhook. During a rotation, a comma-separated list of tokens, all of which are valid.',
  ),
  signingToken: secretSetting(signingTokens, { protects: true }).describe(
    'Signing token of the webhook, `whsec_…`; also accepts a list. Set the token too: the signature authenticates the body, and the token lets the daemon reject other senders before it reads the body.',
  ),
  requireSignature: setting(boolean, {
    protects: true,
    default: 'false',
    needs: {
      'webhook.signing_token': 'Signatures are required, but no signing token is configured to verify them.',
    },
  }).describe('Refuse deliveries without a signature.'),
}

/** Creates the table of core options, keyed by their heading in the reference. Vendor-specific names come from the profiles. */
function optionTable<P extends string>(profiles: Profiles<P>, ownEvents: readonly string[] = []) {
  const profile = setting(oneOf(Object.keys(profiles) as P[]), { restart: true, default: 'generic' }).describe(
    'Vendor profile: header prefix, attribute namespace and variable names.',
  )
  const { url: _, ...otherPlatformOptions } = platformOptions
  const { poll } = pollingOptions
  const events = eventOptions(profiles, ownEvents)
  return {
    'Configuration file': {
      config: setting(path, { variableOnly: true, restart: true, example: '/etc/pipespan/pipespan.yaml' }).describe(
        'YAML file with further settings.',
      ),
      configWatch: setting(boolean, { default: 'false', restart: true }).describe(
        'Reload the configuration file when it changes, as SIGHUP does. The daemon checks the file every two seconds.',
      ),
    },
    Listening: listeningOptions,
    Pages: { traceLink, pages: pageOptions },
    Store: {
      store: {
        url: setting(storeUrl, { restart: true, default: 'sqlite:./data/pipespan.db' }).describe(
          'Where deliveries, runs and pending exports are stored.',
        ),
        maxSize: setting(byteSize, { restart: true, default: '10GiB' }).describe(
          'Maximum size of the store; when it is reached, webhooks are refused with 503.',
        ),
      },
      retention: setting(duration, { default: '7d' }).describe(
        'How long pipelines are kept after their last change and export. Dead letters and quarantined deliveries are kept for the same time.',
      ),
      remember: setting(duration, { default: '400d' }).describe(
        'How long the export record of a pruned pipeline is kept, so that a late retry creates no duplicates.',
      ),
      trends: {
        keep: setting(duration, { default: '400d' }).describe(
          'How long daily statistics of projects, pipelines and jobs are kept, even after their pipelines have been pruned.',
        ),
      },
    },
    Webhooks: {
      webhook: webhookOptions,
    },
    Platform: {
      platform: { profile, ...platformOptions },
      enrichDeadline,
      platforms: severalPlatforms({
        platform: { profile, ...otherPlatformOptions },
        webhook: webhookOptions,
        poll: { projects: poll.projects, groups: poll.groups, mine: poll.mine, crossProject: poll.crossProject },
      }),
    },
    Polling: pollingOptions,
    Runs: {
      settle: setting(duration, { default: '5s' }).describe(
        'How long a finished pipeline may still change before it is exported.',
      ),
      blockedAfter: setting(duration, { default: '1h' }).describe(
        'A pipeline blocked by a manual job or a schedule for this long is exported in its current state.',
      ),
      silentAfter: setting(duration, { default: '2m' }).describe(
        "A running pipeline without events for this long, and for longer than nearly all pipelines of its project take, is looked up in the platform's API, because the webhook for its end may be lost.",
      ),
      staleAfter: setting(duration, { default: '7d' }).describe(
        'A pipeline without events for this long is exported in its current state.',
      ),
    },
    'What is exported': { ...selectionOptions, ...events, redact },
    'Appearance of telemetry': {
      traceIds: setting(oneOf(['instance', 'platform']), { default: 'instance' }).describe(
        "How trace and span IDs are generated: `instance` (unique across platform instances), or `platform` (compatible with the platform's own).",
      ),
      traceparent: setting(boolean, { default: 'false' }).describe(
        'Use a `TRACEPARENT` pipeline variable: the pipeline joins that trace.',
      ),
      traces: {
        spanName: setting(oneOf(['legacy', 'conventions']), { default: 'legacy' }).describe(
          'Name of the pipeline span: `pipeline: {name}`, or `RUN {name}` as in the semantic conventions.',
        ),
      },
      conventions: setting(oneOf(['contract', 'strict']), { default: 'contract' }).describe(
        'Which names and values to export where the semantic conventions differ from the platform: those of the platform (`contract`), or exactly those of the conventions (`strict`). docs/ATTRIBUTES.md lists the differences.',
      ),
      service: {
        name: setting(text, {
          variable: 'OTEL_SERVICE_NAME',
          unset: "`service.name` of `resource.attributes`, else the project's name",
        }).describe('The resource attribute `service.name`.'),
      },
      resource: {
        attributes: setting(attributes, {
          variable: 'OTEL_RESOURCE_ATTRIBUTES',
          example: 'deployment.environment=staging,team=build',
        }).describe('More resource attributes: `key=value` pairs, percent-encoded; in YAML a mapping of plain values.'),
      },
    },
    Metrics: { metrics: metricOptions, jobMetrics: jobMetricsOption },
    Costs: { costs: costOptions },
    'OTLP export': {
      observability: observabilityOptions,
      otlp: otlpOptions,
      destinations,
    },
    Proxies: {
      httpsProxy: setting(proxyUrl, {
        variable: 'HTTPS_PROXY',
        spellings: ['https_proxy'],
        example: 'http://proxy.example.com:3128',
      }).describe('Proxy for requests to https URLs.'),
      httpProxy: setting(proxyUrl, { variable: 'HTTP_PROXY', spellings: ['http_proxy'] }).describe(
        'Proxy for requests to http URLs.',
      ),
      noProxy: setting(list, {
        variable: 'NO_PROXY',
        spellings: ['no_proxy'],
        example: 'localhost,.internal.example.com',
      }).describe('Hosts to reach without a proxy.'),
    },
    "The daemon's own telemetry": { self: selfOptions },
    Log: {
      log: {
        level: setting(oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), {
          restart: true,
          default: 'info',
        }).describe('Minimum level of log messages, written to standard error.'),
        format: setting(oneOf(['json', 'pretty']), { restart: true, unset: '`json`; `pretty` on a terminal' }).describe(
          'Log format.',
        ),
      },
    },
  }
}

type Table<P extends string> = ReturnType<typeof optionTable<P>>

/** The effective configuration: configured values and defaults. */
export type Config<P extends string = string> = ConfigOf<Intersection<Table<P>[keyof Table<P>]>>

/** The part of a feature that the configuration needs: its options, keyed by their heading in the reference, and their checks. */
export interface HasOptions {
  readonly options?: Sections
  /** The name that selects the feature's own events in PIPESPAN_EVENTS; see `ownEvents` of `Feature`. */
  readonly ownEvents?: string
  readonly patterns?: readonly string[]
  readonly faults?: (config: never, faultOf: FaultOf) => readonly ConfigFault[]
  readonly warnings?: (config: never, unreported: object) => readonly string[]
  readonly unreported?: (config: never) => object
}

export function optionSections(profiles: Profiles, features: readonly HasOptions[]): Sections {
  const ownEvents = features.flatMap(one => one.ownEvents ?? [])
  const sections: Record<string, Group> = { ...optionTable(profiles, ownEvents) }
  for (const { options = {} } of features)
    for (const [heading, group] of Object.entries(options))
      sections[heading] = joinedGroups(sections[heading] ?? {}, group)
  const { platforms } = sections.Platform ?? {}
  if (!(platforms instanceof Each)) throw new TypeError('There is no list of platforms.')
  const added = features.flatMap(({ options = {} }) => Object.values(options).map(group => ofEachPlatform(group)))
  const item = added.reduce(joinedGroups, platforms.item)
  sections.Platform = { ...sections.Platform, platforms: new Each(item, platforms.description) }
  return Object.fromEntries(Object.entries(sections).map(([heading, group]) => [heading, named('PIPESPAN', group)]))
}

/** Returns all options in one group, without the headings of the reference. */
export function allOptions(profiles: Profiles, features: readonly HasOptions[]): Group {
  return Object.values(optionSections(profiles, features)).reduce(joinedGroups, {})
}
