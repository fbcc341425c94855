// Provides the platform's REST API as typed calls. The rules for all requests are in `request.ts`. Each resource has a file with its calls and their
// response schemas.
import { auditCalls } from './audit.ts'
import { apiPath, connectRules, directDispatcher, type DispatcherFactory } from './http.ts'
import type { EventWords } from '../webhook/read-event.ts'
import { ConfigError } from '../../lib/fault.ts'
import { createReadLog } from '../job-log/read-log.ts'
import { createReadReport } from '../reports/read-report.ts'
import { createReadSpans } from '../reports/read-spans.ts'
import { createShowLog } from '../job-log/show-log.ts'
import { createTestReports } from '../reports/read-tests.ts'
import { createApi, createAsking, type OnLeftOut } from './api.ts'
import { createRequester, type RequesterOptions, type RetryRules } from './request.ts'
import { hookCalls } from './hooks.ts'
import { answersAbout } from './observation.ts'
import { jobCalls, type JobCalls } from './jobs.ts'
import { normalizeInstance } from '../../model/instance.ts'
import { pipelineCalls, type PipelineCalls } from './pipelines.ts'
import { ownerOf, projectCalls } from './projects.ts'
import type { PlatformClient } from '../port.ts'
import type { InsideClient } from '../port/inside.ts'
import type { WantedFacts } from '../wanted-facts.ts'

export interface PlatformClientOptions extends Omit<
  RequesterOptions,
  'dispatcher' | 'answerMs' | 'streamMs' | 'retry' | 'basePath'
> {
  /** The platform's base URL, without `/api/v4`. */
  readonly url: string
  /** A certificate authority (PEM) that is trusted in addition to the default ones. */
  readonly ca?: string | undefined
  /** Creates the connections if they are not direct, for example through a proxy. */
  readonly dispatcher?: DispatcherFactory | undefined
  /** Timeouts in ms for opening a connection, for a response, and for a whole stream. */
  readonly timeouts?: { readonly connect: number; readonly answer: number; readonly stream?: number } | undefined
  readonly retry?: RetryRules | undefined
  /** Maximum size of a response, bytes. */
  readonly maxBytes?: number | undefined
  readonly onLeftOut?: OnLeftOut | undefined
  /** How the strings in audit events are redacted. By default, known secrets are removed. */
  readonly eventWords?: EventWords | undefined
  /** The facts that the operator's attribute rules need. By default there are none. */
  readonly wanted?: WantedFacts | undefined
}

/** The client, including the calls that are used only within this folder. */
export interface RestClient extends PlatformClient, InsideClient, PipelineCalls, JobCalls {}

const defaults = {
  timeouts: { connect: 10_000, answer: 60_000, stream: 600_000 },
  retry: { tries: 4, refusals: 5, first: 1_000, max: 30_000 },
  maxBytes: 32 * 1024 * 1024,
}

/** Creates the client of a platform. Throws a ConfigError if `url` is not an http(s) address. */
export function createPlatformClient(options: PlatformClientOptions): RestClient {
  const instance = normalizeInstance(options.url)
  if (instance === undefined) {
    throw new ConfigError(
      'PIPESPAN_PLATFORM_URL is not an http(s) address.',
      'Set it to the address of the platform, such as https://git.example.com.',
    )
  }
  const { timeouts = defaults.timeouts, retry = defaults.retry, maxBytes = defaults.maxBytes } = options
  const { log, onLeftOut, wanted } = options
  const base = instance + apiPath
  const requester = createRequester({
    ...{ ...options, retry, basePath: new URL(base).pathname },
    ...{ answerMs: timeouts.answer, streamMs: timeouts.stream ?? defaults.timeouts.stream },
    dispatcher: (options.dispatcher ?? directDispatcher)(connectRules(options.ca, timeouts.connect)),
  })
  const api = createApi({ base, requester, maxBytes, log, onLeftOut })
  const calls = { ...pipelineCalls(api, instance, wanted), ...jobCalls(api) }
  return {
    instance,
    ...calls,
    about: pipeline => answersAbout(calls, instance, pipeline),
    ...projectCalls(api, instance),
    ...hookCalls(api, wanted?.variables),
    ...auditCalls(api, instance, options.eventWords),
    owner: async (named, call) => ownerOf(named, createAsking(api, call)),
    inside: rules => ({
      log: createReadLog(calls, rules),
      report: createReadReport(calls, rules),
      spans: createReadSpans(calls, rules),
      tests: createTestReports(calls, rules),
    }),
    showLogs: rules => createShowLog(calls, rules),
    asking: call => createAsking(api, call),
    close: () => requester.close(),
  }
}
