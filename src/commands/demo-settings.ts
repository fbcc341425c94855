// The configuration of the demo's daemon. Every feature that has something to show is enabled.
import path from 'node:path'
import { features } from '../features.ts'
import { ownSpansPath } from '../simulator/platform/job-files.ts'

/** The values of PIPESPAN_EVENTS that select the events created by features. */
const ownEvents = features.flatMap(({ ownEvents: word }) => word ?? [])

/** The simulated company's prices per minute, by runner, for the costs page. */
const prices = `costs:
  unit: EUR
  rules:
    - { name: macos, match: { tags: [macos] }, per_minute: 0.08 }
    - { name: large, match: { tags: [large] }, per_minute: 0.032 }
    - { name: small, per_minute: 0.008 }
`
/** The top-level group of all projects in the demo. */
const company = 'brightwater'
/** Queries whose results are exported as gauges: a count, and pipeline durations by branch. */
const queries = `queries:
  - { metric: brightwater.merge_requests.open, query: type = MergeRequest and state = opened, group: ${company}, every: 1m }
  - metric: brightwater.pipeline.duration.p50
    query: type = Pipeline and finished >= -30d
    group: ${company}
    value: p50
    fields: [ref]
    every: 1m
`

/** Attribute rules: the team that owns a project, the kind of a change, and the tier of deploy jobs. */
const teams = `attributes:
  rules:
    - { projects: { include: [${company}/shop/*] }, set: { team: shop }, metrics: true }
    - { projects: { include: [${company}/mobile/*] }, set: { team: mobile }, metrics: true }
    - { projects: { include: ['${company}/{platform,data}/*'] }, set: { team: platform }, metrics: true }
    - { branches: [merge_request], set: { change_kind: { label: 'kind::' } } }
    - { jobs: { include: ['deploy*'] }, set: { tier: '1' } }
`

/**
 * Returns the content of the demo's configuration file, which contains the settings that have no environment variable. `messages` is the address to
 * which notifications are posted.
 */
export function demoConfiguration(messages: string): string {
  return `${prices}${queries}${teams}notifications:\n  - { name: terminal, url: '${messages}' }\n`
}

interface DemoPlaces {
  /** The folder that contains the store. */
  readonly folder: string
  /** The path of the configuration file. */
  readonly configuration: string
  /** The token for the demo's webhooks. */
  readonly token: string
  /** The token for the platform's API. */
  readonly apiToken: string
  readonly once: boolean
  readonly port: number
  /** The host and port that the pages are served on. */
  readonly adminListen: string
  /** The admin token, which people need to open the pages. */
  readonly adminToken: string
  /** The URL of the platform's API. */
  readonly api: string
  /** The URL of the OTLP receiver, which also serves the ingest token API. */
  readonly receiver: string
  /** The path of the ingest token file. */
  readonly ingestToken: string
  /** The key for the ingest token API; undefined if no key is used. */
  readonly ingestKey: string | undefined
}

/** Returns the environment for the demo's daemon, derived from the user's environment. */
export function demoSettings(env: NodeJS.ProcessEnv, places: DemoPlaces): NodeJS.ProcessEnv {
  const { folder, configuration, token, apiToken, once, port, adminListen, adminToken, api, receiver } = places
  return {
    ...inherited(env),
    PIPESPAN_CONFIG: configuration,
    PIPESPAN_LISTEN: `127.0.0.1:${port}`,
    PIPESPAN_ADMIN_LISTEN: adminListen,
    PIPESPAN_ADMIN_TOKEN: adminToken,
    PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'pipespan.db')}`,
    PIPESPAN_WEBHOOK_TOKEN: token,
    PIPESPAN_PLATFORM_URL: api,
    PIPESPAN_PLATFORM_TOKEN: apiToken,
    PIPESPAN_PLATFORM_BUDGET: '3000',
    PIPESPAN_POLL_GROUPS: company,
    PIPESPAN_POLL_INTERVAL: '2s',
    // Without `once`, the demo ends up running in real time, where most pipelines send nothing for more than 5 s. So a pipeline then counts as silent
    // only after two minutes.
    PIPESPAN_SILENT_AFTER: once ? '5s' : '2m',
    PIPESPAN_AUDIT: company,
    PIPESPAN_INVENTORY_AGENTS: `${company}/platform/infrastructure`,
    PIPESPAN_INVENTORY_FEATURE_FLAGS: `${company}/shop/storefront`,
    PIPESPAN_INVENTORY_GROUPS: company,
    PIPESPAN_INVENTORY_INCLUDES: ['shop/storefront', 'shop/checkout-api', 'mobile/app', 'platform/infrastructure']
      .map(project => `${company}/${project}`)
      .join(','),
    PIPESPAN_INVENTORY_MILESTONES: `${company}/shop`,
    PIPESPAN_INVENTORY_RUNNERS: company,
    PIPESPAN_INVENTORY_SCHEDULES: `${company}/shop/storefront`,
    PIPESPAN_INVENTORY_REPOSITORIES: company,
    PIPESPAN_INVENTORY_REFS: `${company}/shop/storefront`,
    PIPESPAN_INVENTORY_DEPENDENCIES: `${company}/shop/storefront`,
    PIPESPAN_INVENTORY_DEPENDENCY_FIREWALL: `${company}/shop/storefront`,
    PIPESPAN_EVENTS: ['deployment,change,release,feature_flag,access_token,issue', ...ownEvents].join(','),
    PIPESPAN_PAGES_GROUP_BY: 'team',
    PIPESPAN_PAGES_LOGS: 'true',
    PIPESPAN_MCP: 'true',
    PIPESPAN_TESTS: 'true',
    PIPESPAN_TESTS_SPANS: 'suites',
    PIPESPAN_JOB_SECTIONS: 'failed',
    PIPESPAN_REPORTS: 'metrics,dotenv,coverage,findings',
    PIPESPAN_JOB_SPANS: ownSpansPath,
    PIPESPAN_DOTENV_KEYS: 'IMAGE_TAG,VERSION',
    PIPESPAN_SETTLE: '500ms',
    // The enrichment deadline is short, so that deployments are counted while the user is watching.
    PIPESPAN_ENRICH_DEADLINE: '15s',
    PIPESPAN_LOG_LEVEL: 'warn',
    // The compile cache is disabled, because a demo must not leave any files behind.
    NODE_DISABLE_COMPILE_CACHE: '1',
    PIPESPAN_LOG_FORMAT: 'pretty',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics,logs',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver,
    PIPESPAN_OBSERVABILITY_TOKEN_FILE: places.ingestToken,
    ...(places.ingestKey !== undefined && {
      PIPESPAN_OBSERVABILITY_URL: receiver,
      PIPESPAN_OBSERVABILITY_API_KEY: places.ingestKey,
    }),
  }
}

/** Returns the user's environment without the variables that would configure the demo's daemon or send its exports through a proxy. */
function inherited(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const foreign = /^(PIPESPAN_|OTEL_|(SERVICE|GITLAB)_OBSERVABILITY_)|^(HTTPS?|ALL|NO)_PROXY$/i
  return Object.fromEntries(Object.entries(env).filter(([name]) => !foreign.test(name)))
}
