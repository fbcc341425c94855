// The options of the platform's API: how it is reached, and what is fetched from it: polling, redelivery, hooks.
import { certificateFile } from './file-kinds.ts'
import { boolean, duration, durationFrom, integer, oneOf } from './plain-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { projectNames } from './project-kinds.ts'
import { secret } from './secret-kinds.ts'
import { secretSetting, setting } from './option.ts'

export const platformOptions = {
  url: setting(httpUrl, { unset: 'taken from each delivery', example: 'https://git.example.com' }).describe(
    'Base URL of the platform.',
  ),
  token: secretSetting(secret).describe(
    'Token with the scope read_api: fetches details that webhooks leave out, and allows polling.',
  ),
  tokenType: setting(oneOf(['private', 'bearer', 'job']), { default: 'private' }).describe(
    'Type of the token: sent as `PRIVATE-TOKEN`, as an OAuth bearer token, or as `JOB-TOKEN`.',
  ),
  caFile: setting(certificateFile).describe('PEM file of an additional trusted certificate authority.'),
  budget: setting(integer({ min: 1, max: 100_000 }), { default: '300' }).describe(
    'Requests per minute, shared by all replicas and commands that use the token.',
  ),
}

export const enrichDeadline = setting(duration, { default: '2m' }).describe(
  "Maximum delay of a finished pipeline's export while the platform does not answer.",
)

export const pollingOptions = {
  poll: {
    projects: setting(projectNames(), { example: 'team/shop,4711' }).describe(
      'Projects to poll for pipelines: IDs or full paths.',
    ),
    groups: setting(projectNames(), { example: 'team' }).describe(
      'Groups to poll, including subgroups: IDs or full paths.',
    ),
    mine: setting(boolean, { default: 'false' }).describe(
      "Poll for pipelines that the token's user started, in all projects.",
    ),
    crossProject: setting(boolean, { default: 'true' }).describe(
      'Where the settings above name nothing to poll, and there is a token: poll what it may see, which is the pipelines that its user started, in all projects, and the projects that its user is a member of. Per round 3 requests and 2 for each project that was active, at most six tenths of PIPESPAN_PLATFORM_BUDGET.',
    ),
    interval: setting(durationFrom(1_000), { default: '60s' }).describe('Polling interval.'),
    lookback: setting(duration, { default: '24h' }).describe('How far back a project is polled at first.'),
    running: setting(boolean, { default: 'false' }).describe(
      'Show pipelines that have not ended without webhooks: fetch each when it is found, and again while it runs (3 requests), and begin the first poll of a project with what is running or pending, even if it has not changed within the lookback (2 requests).',
    ),
  },
  redelivery: setting(boolean, { default: 'false' }).describe(
    "Fetch failed deliveries from the platform's delivery log of the polled projects' and groups' webhooks.",
  ),
  watchHooks: setting(boolean, { default: 'false' }).describe(
    "Watch this daemon's webhooks in the polled projects and groups, and export their state and delivery durations: every 5 minutes 1 request for each project or group and 1 for each webhook, at the lowest priority. The token must be allowed to read webhooks. Included in PIPESPAN_REDELIVERY.",
  ),
  publicUrl: setting(httpUrl, { example: 'https://pipespan.example.com' }).describe(
    'Public URL of this daemon, as the platform reaches it; used to recognize its own webhooks.',
  ),
}
