// The options of the platform's API: how it is reached, and what is asked of it beyond what webhooks bring.
import { boolean, duration, integer, oneOf, readableFile } from './plain-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { list } from './list-kinds.ts'
import { secret } from './secret-kinds.ts'
import { secretSetting, setting } from './option.ts'

export const platformOptions = {
  url: setting(httpUrl, {
    variable: 'PIPESPAN_PLATFORM_URL',
    unset: 'named by each delivery',
    says: "The platform instance's base URL.",
    example: 'https://git.example.com',
  }),
  token: secretSetting(secret, {
    variable: 'PIPESPAN_PLATFORM_TOKEN',
    says: 'Token that may read the API: with it, what webhooks leave out is asked for, and polling is possible.',
  }),
  tokenType: setting(oneOf(['private', 'bearer', 'job']), {
    variable: 'PIPESPAN_PLATFORM_TOKEN_TYPE',
    default: 'private',
    says: 'How the token is sent: as `PRIVATE-TOKEN`, as an OAuth bearer token, or as `JOB-TOKEN`.',
  }),
  caFile: setting(readableFile, {
    variable: 'PIPESPAN_PLATFORM_CA_FILE',
    says: 'PEM file of a certificate authority that is trusted besides the usual ones.',
  }),
  budget: setting(integer({ min: 1, max: 100_000 }), {
    variable: 'PIPESPAN_PLATFORM_BUDGET',
    default: '300',
    says: 'Requests a minute, of all replicas and commands that share the token.',
  }),
}

export const enrichDeadline = setting(duration, {
  variable: 'PIPESPAN_ENRICH_DEADLINE',
  default: '2m',
  says: 'How long a platform that does not answer may delay the export of a finished pipeline.',
})

export const pollingOptions = {
  poll: {
    projects: setting(list, {
      variable: 'PIPESPAN_POLL_PROJECTS',
      says: 'Projects whose pipelines are looked for: ids or full paths.',
      example: 'team/shop,4711',
    }),
    groups: setting(list, {
      variable: 'PIPESPAN_POLL_GROUPS',
      says: 'Groups likewise, with their subgroups.',
      example: 'team',
    }),
    mine: setting(boolean, {
      variable: 'PIPESPAN_POLL_MINE',
      default: 'false',
      says: "Look for the pipelines that the token's own user started, in all projects.",
    }),
    interval: setting(duration, {
      variable: 'PIPESPAN_POLL_INTERVAL',
      default: '60s',
      says: 'Time between two rounds, at least 1s.',
    }),
    lookback: setting(duration, {
      variable: 'PIPESPAN_POLL_LOOKBACK',
      default: '24h',
      says: 'How far the first look at a project goes back.',
    }),
  },
  redelivery: setting(boolean, {
    variable: 'PIPESPAN_REDELIVERY',
    default: 'false',
    says: "Fetch failed deliveries from the platform's records of the polled projects' and groups' hooks.",
  }),
  publicUrl: setting(httpUrl, {
    variable: 'PIPESPAN_PUBLIC_URL',
    says: 'The address under which the platform reaches this daemon: how its own hooks are known among others.',
    example: 'https://pipespan.example.com',
  }),
}
