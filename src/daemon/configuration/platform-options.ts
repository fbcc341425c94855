// The options of the platform's API: how it is reached, and what is fetched from it: polling, redelivery, hooks.
import { certificateFile } from './file-kinds.ts'
import { boolean, duration, durationFrom, integer, oneOf } from './plain-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { projectNames } from './project-kinds.ts'
import { secret } from './secret-kinds.ts'
import { secretSetting, setting } from './option.ts'

export const platformOptions = {
  url: setting(httpUrl, {
    variable: 'PIPESPAN_PLATFORM_URL',
    unset: 'taken from each delivery',
    description: 'Base URL of the platform.',
    example: 'https://git.example.com',
  }),
  token: secretSetting(secret, {
    variable: 'PIPESPAN_PLATFORM_TOKEN',
    description: 'Token with the scope read_api: fetches details that webhooks leave out, and allows polling.',
  }),
  tokenType: setting(oneOf(['private', 'bearer', 'job']), {
    variable: 'PIPESPAN_PLATFORM_TOKEN_TYPE',
    default: 'private',
    description: 'Type of the token: sent as `PRIVATE-TOKEN`, as an OAuth bearer token, or as `JOB-TOKEN`.',
  }),
  caFile: setting(certificateFile, {
    variable: 'PIPESPAN_PLATFORM_CA_FILE',
    description: 'PEM file of an additional trusted certificate authority.',
  }),
  budget: setting(integer({ min: 1, max: 100_000 }), {
    variable: 'PIPESPAN_PLATFORM_BUDGET',
    default: '300',
    description: 'Requests per minute, shared by all replicas and commands that use the token.',
  }),
}

export const enrichDeadline = setting(duration, {
  variable: 'PIPESPAN_ENRICH_DEADLINE',
  default: '2m',
  description: "Maximum delay of a finished pipeline's export while the platform does not answer.",
})

export const pollingOptions = {
  poll: {
    projects: setting(projectNames(), {
      variable: 'PIPESPAN_POLL_PROJECTS',
      description: 'Projects to poll for pipelines: IDs or full paths.',
      example: 'team/shop,4711',
    }),
    groups: setting(projectNames(), {
      variable: 'PIPESPAN_POLL_GROUPS',
      description: 'Groups to poll, including subgroups: IDs or full paths.',
      example: 'team',
    }),
    mine: setting(boolean, {
      variable: 'PIPESPAN_POLL_MINE',
      default: 'false',
      description: "Poll for pipelines that the token's user started, in all projects.",
    }),
    crossProject: setting(boolean, {
      variable: 'PIPESPAN_POLL_CROSS_PROJECT',
      default: 'true',
      description:
        'Where the settings above name nothing to poll, and there is a token: poll what it may see, which is the pipelines that its user started, in all projects, and the projects that its user is a member of. Per round 3 requests and 2 for each project that was active, at most six tenths of PIPESPAN_PLATFORM_BUDGET.',
    }),
    interval: setting(durationFrom(1_000), {
      variable: 'PIPESPAN_POLL_INTERVAL',
      default: '60s',
      description: 'Polling interval.',
    }),
    lookback: setting(duration, {
      variable: 'PIPESPAN_POLL_LOOKBACK',
      default: '24h',
      description: 'How far back a project is polled at first.',
    }),
    running: setting(boolean, {
      variable: 'PIPESPAN_POLL_RUNNING',
      default: 'false',
      description:
        'Show pipelines that have not ended without webhooks: fetch each when it is found, and again while it runs (3 requests), and begin the first poll of a project with what is running or pending, even if it has not changed within the lookback (2 requests).',
    }),
  },
  redelivery: setting(boolean, {
    variable: 'PIPESPAN_REDELIVERY',
    default: 'false',
    description:
      "Fetch failed deliveries from the platform's delivery log of the polled projects' and groups' webhooks.",
  }),
  watchHooks: setting(boolean, {
    variable: 'PIPESPAN_WATCH_HOOKS',
    default: 'false',
    description:
      "Watch this daemon's webhooks in the polled projects and groups, and export their state and delivery durations: every 5 minutes 1 request for each project or group and 1 for each webhook, at the lowest priority. The token must be allowed to read webhooks. Included in PIPESPAN_REDELIVERY.",
  }),
  publicUrl: setting(httpUrl, {
    variable: 'PIPESPAN_PUBLIC_URL',
    description: 'Public URL of this daemon, as the platform reaches it; used to recognize its own webhooks.',
    example: 'https://pipespan.example.com',
  }),
}
