// The one table of options. The YAML file, the variables, --help, the reference and the editors' schema all come from
// it. A key's place here is its YAML path in snake case; PIPESPAN_ and that path in capitals is its variable.
import { basePath, httpUrl, listenAddress, proxyUrl, storeUrl } from './address-kinds.ts'
import {
  boolean,
  byteSize,
  destinationName,
  duration,
  integer,
  oneOf,
  path,
  readableFile,
  text,
} from './plain-kinds.ts'
import { Each, secretSetting, setting, type ConfigOf, type Group, type Profiles } from './option.ts'
import { attributes, headers } from './pair-kinds.ts'
import { list, patterns, someOf } from './list-kinds.ts'
import { enrichDeadline, platformOptions, pollingOptions } from './platform-options.ts'
import { metricOptions, selfOptions, temporality } from './metric-options.ts'
import { adminToken, pageOptions, traceLink } from './page-options.ts'
import { otlpOptions, signals } from './otlp-options.ts'
import { secret, secretList, signingTokens } from './secret-kinds.ts'

/** The table by headings. The profiles bring the vendor words, which live elsewhere. */
export function optionTable<P extends string>(profiles: Profiles<P>) {
  return {
    'Configuration file': {
      config: setting(path, {
        variable: 'PIPESPAN_CONFIG',
        variableOnly: true,
        says: 'The YAML file with the other settings.',
        example: '/etc/pipespan/pipespan.yaml',
      }),
    },
    Listening: {
      listen: setting(listenAddress, {
        variable: 'PIPESPAN_LISTEN',
        default: '127.0.0.1:8080',
        says: 'Where webhooks and health are served. `[::]:8080` is every address, IPv4 and IPv6.',
        example: '[::]:8080',
      }),
      tls: {
        certFile: setting(readableFile, {
          variable: 'PIPESPAN_TLS_CERT_FILE',
          says: 'PEM file of the certificate chain: with it and its key, `listen` speaks HTTPS.',
        }),
        keyFile: setting(readableFile, {
          variable: 'PIPESPAN_TLS_KEY_FILE',
          says: 'PEM file of the private key of that certificate.',
        }),
      },
      admin: {
        listen: setting(listenAddress, {
          variable: 'PIPESPAN_ADMIN_LISTEN',
          default: '127.0.0.1:8081',
          says: 'Where the pages, their JSON API, health and `/metrics` are served, apart from the webhooks.',
        }),
        token: adminToken,
      },
      basePath: setting(basePath, {
        variable: 'PIPESPAN_BASE_PATH',
        default: '/',
        says: 'The path under which a reverse proxy publishes the daemon.',
        example: '/pipespan',
      }),
      trustProxy: setting(boolean, {
        variable: 'PIPESPAN_TRUST_PROXY',
        default: 'false',
        says: 'Believe the `X-Forwarded-…` headers: only where a reverse proxy sets them.',
      }),
    },
    Pages: { traceLink, pages: pageOptions },
    Store: {
      store: {
        url: setting(storeUrl, {
          variable: 'PIPESPAN_STORE_URL',
          default: 'sqlite:./data/pipespan.db',
          says: 'Where deliveries, runs and what is owed are kept.',
        }),
        maxSize: setting(byteSize, {
          variable: 'PIPESPAN_STORE_MAX_SIZE',
          default: '10GiB',
          says: 'How much the store may hold before webhooks are answered with 503.',
        }),
      },
      retention: setting(duration, {
        variable: 'PIPESPAN_RETENTION',
        default: '7d',
        says: 'How long a pipeline is kept after its last change and export; dead letters and unreadable deliveries too.',
      }),
      remember: setting(duration, {
        variable: 'PIPESPAN_REMEMBER',
        default: '400d',
        says: 'How long it is remembered what was exported of a pipeline no longer kept: a late retry then doubles nothing.',
      }),
    },
    Webhooks: {
      webhook: {
        token: secretSetting(secretList, {
          variable: 'PIPESPAN_WEBHOOK_TOKEN',
          says: 'Secret token of the webhook; several with commas between them are all valid, for rotation.',
        }),
        signingToken: secretSetting(signingTokens, {
          variable: 'PIPESPAN_WEBHOOK_SIGNING_TOKEN',
          says: 'Signing token of the webhook, `whsec_…`; several likewise.',
        }),
        requireSignature: setting(boolean, {
          variable: 'PIPESPAN_WEBHOOK_REQUIRE_SIGNATURE',
          default: 'false',
          says: 'Refuse deliveries that carry only a token.',
        }),
      },
    },
    Platform: {
      platform: {
        profile: setting(oneOf(Object.keys(profiles) as P[]), {
          variable: 'PIPESPAN_PLATFORM_PROFILE',
          default: 'generic',
          says: "The platform's words: its header prefix, attribute namespace and variable names.",
        }),
        ...platformOptions,
      },
      enrichDeadline,
    },
    Polling: pollingOptions,
    Runs: {
      settle: setting(duration, {
        variable: 'PIPESPAN_SETTLE',
        default: '5s',
        says: 'How long a finished pipeline may still change before it is exported.',
      }),
      blockedAfter: setting(duration, {
        variable: 'PIPESPAN_BLOCKED_AFTER',
        default: '1h',
        says: 'A pipeline that waits for a person or a schedule this long is exported as it stands.',
      }),
      staleAfter: setting(duration, {
        variable: 'PIPESPAN_STALE_AFTER',
        default: '7d',
        says: 'A pipeline that went silent this long is exported as it stands.',
      }),
    },
    'What is exported': {
      projects: {
        include: setting(patterns, {
          variable: 'PIPESPAN_PROJECTS_INCLUDE',
          unset: 'all',
          says: 'Projects whose pipelines are exported: patterns of their full paths.',
          example: 'team/*,shop/**',
        }),
        exclude: setting(patterns, {
          variable: 'PIPESPAN_PROJECTS_EXCLUDE',
          says: 'Projects left out; stronger than `include`.',
        }),
      },
      refs: {
        include: setting(patterns, {
          variable: 'PIPESPAN_REFS_INCLUDE',
          unset: 'all',
          says: 'Branches and tags whose pipelines are exported.',
          example: 'main,release/*',
        }),
        exclude: setting(patterns, {
          variable: 'PIPESPAN_REFS_EXCLUDE',
          says: 'Branches and tags left out; stronger than `include`.',
        }),
      },
      sources: {
        exclude: setting(patterns, {
          variable: 'PIPESPAN_SOURCES_EXCLUDE',
          says: 'Pipelines left out by what started them.',
          example: 'schedule,external',
        }),
      },
      attributes: {
        drop: setting(patterns, {
          variable: 'PIPESPAN_ATTRIBUTES_DROP',
          says: 'Attributes left out of every signal: names or patterns.',
          example: 'pipeline.user.*',
        }),
        hash: setting(patterns, {
          variable: 'PIPESPAN_ATTRIBUTES_HASH',
          says: 'Attributes whose values are replaced by a hash in every signal: names or patterns.',
          example: '*.commit.message',
        }),
        valueLengthLimit: setting(integer({ min: 1, max: 1_000_000 }), {
          variable: 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
          default: '4096',
          says: 'Longest text of an attribute in every signal, UTF-16 units; the rest is cut off.',
        }),
      },
    },
    'How it looks': {
      traceIds: setting(oneOf(['instance', 'platform']), {
        variable: 'PIPESPAN_TRACE_IDS',
        default: 'instance',
        says: "How trace and span ids are made: unique across instances, or the platform's own.",
      }),
      traceparent: setting(boolean, {
        variable: 'PIPESPAN_TRACEPARENT',
        default: 'false',
        says: 'Honour a `TRACEPARENT` pipeline variable: the pipeline joins that trace.',
      }),
      traces: {
        spanName: setting(oneOf(['legacy', 'conventions']), {
          variable: 'PIPESPAN_TRACES_SPAN_NAME',
          default: 'legacy',
          says: 'Name of the pipeline span: `pipeline: {name}`, or `RUN {name}` as the semantic conventions have it.',
        }),
      },
      service: {
        name: setting(text, {
          variable: 'OTEL_SERVICE_NAME',
          unset: "`service.name` of `resource.attributes`, else the project's name",
          says: 'The resource attribute `service.name`.',
        }),
      },
      resource: {
        attributes: setting(attributes, {
          variable: 'OTEL_RESOURCE_ATTRIBUTES',
          says: 'More resource attributes: `key=value` pairs, percent-encoded; in YAML a mapping of plain values.',
          example: 'deployment.environment=staging,team=build',
        }),
      },
    },
    Metrics: { metrics: metricOptions },
    'OTLP export': {
      observability: {
        export: setting(someOf(signals), {
          variable: { ofProfile: 'export' },
          default: 'traces,metrics,logs',
          says: 'The signals that are on.',
        }),
        token: secretSetting(secret, {
          variable: { ofProfile: 'token' },
          says: 'Bearer token of the `default` destination, in place of an `Authorization` among its headers.',
        }),
        url: setting(httpUrl, {
          variable: 'PIPESPAN_OBSERVABILITY_URL',
          says: 'The observability instance whose ingest tokens `pipespan tokens` and `pipespan enforcement` manage.',
          example: 'https://observability.example.com',
        }),
        apiKey: secretSetting(secret, {
          variable: 'PIPESPAN_OBSERVABILITY_API_KEY',
          says: 'Its API key, of an editor or an administrator.',
        }),
        caFile: setting(readableFile, {
          variable: 'PIPESPAN_OBSERVABILITY_CA_FILE',
          unset: "Node's own certificate authorities",
          says: 'PEM file of the authorities that its certificate is checked against.',
        }),
      },
      otlp: otlpOptions,
      destinations: new Each(
        {
          name: setting(destinationName, {
            required: true,
            says: 'Its name in logs and in the store: unique, and not `default`.',
          }),
          endpoint: setting(httpUrl, {
            required: true,
            says: 'Base URL; `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended.',
          }),
          headers: secretSetting(headers, { says: 'Headers of every request to it.' }),
          token: secretSetting(secret, { says: 'Its bearer token.' }),
          temporality: setting(temporality, {
            unset: '`otlp.metrics.temporality_preference`',
            says: 'Temporality of its metrics.',
          }),
          signals: setting(someOf(signals), {
            unset: '`observability.export`',
            says: 'The signals it takes, of those that are on.',
          }),
        },
        'More OTLP backends beside the one of `otlp`, which is named `default`. One that is down holds up no other.',
      ),
    },
    Proxies: {
      httpsProxy: setting(proxyUrl, {
        variable: 'HTTPS_PROXY',
        spellings: ['https_proxy'],
        says: 'Proxy for requests to https URLs.',
        example: 'http://proxy.example.com:3128',
      }),
      httpProxy: setting(proxyUrl, {
        variable: 'HTTP_PROXY',
        spellings: ['http_proxy'],
        says: 'Proxy for requests to http URLs.',
      }),
      noProxy: setting(list, {
        variable: 'NO_PROXY',
        spellings: ['no_proxy'],
        says: 'Hosts that are reached without a proxy.',
        example: 'localhost,.internal.example.com',
      }),
    },
    "The daemon's own telemetry": { self: selfOptions },
    Log: {
      log: {
        level: setting(oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), {
          variable: 'PIPESPAN_LOG_LEVEL',
          default: 'info',
          says: 'The least severe messages that are written to standard error.',
        }),
        format: setting(oneOf(['json', 'pretty']), {
          variable: 'PIPESPAN_LOG_FORMAT',
          unset: '`json`; `pretty` on a terminal',
          says: 'How messages are written.',
        }),
      },
    },
  }
}

type Table<P extends string> = ReturnType<typeof optionTable<P>>

type Intersection<U> = (U extends unknown ? (part: U) => void : never) extends (whole: infer I) => void ? I : never

/** Everything that the operator has said or left to its default. */
export type Config<P extends string = string> = ConfigOf<Intersection<Table<P>[keyof Table<P>]>>

/** All options in one group, without the headings. */
export function allOptions(profiles: Profiles): Group {
  return Object.assign({}, ...Object.values<Group>(optionTable(profiles))) as Group
}
