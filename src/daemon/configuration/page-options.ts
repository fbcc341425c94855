// The options of the pages: who may open them, links to traces, job logs, and which projects are hidden.
import { boolean, text } from './plain-kinds.ts'
import { projectPatterns } from './project-kinds.ts'
import { scalar } from './kind.ts'
import { secretOf } from './secret-kinds.ts'
import { secretSetting, setting } from './option.ts'

/** A shorter one could be guessed. */
const minAdminTokenLength = 16

const adminTokenKind = secretOf('an admin token', value => {
  if (value.length >= minAdminTokenLength) return undefined
  const remedy = `Use at least ${minAdminTokenLength} random characters, for instance from \`openssl rand -hex 24\`.`
  return { what: 'The admin token is too short.', remedy }
})

export const adminToken = secretSetting(adminTokenKind, { protects: true }).describe(
  'Token for the pages (log in with it, or send it as a bearer token) and `/metrics`: at least 16 characters. ' +
    'Required unless the admin listener is on loopback.',
)

const traceLinkKind = scalar<string>({
  noun: 'a link to a trace',
  remedy: 'Write an http(s) URL that contains {traceId}, such as https://tempo.example.com/trace/{traceId}.',
  read: given => {
    const url = URL.parse(given.replaceAll('{traceId}', '0'))
    const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
    return isWeb && given.includes('{traceId}') ? given : undefined
  },
})

export const traceLink = setting(traceLinkKind, { example: 'https://tempo.example.com/trace/{traceId}' }).describe(
  'Trace URL of your backend, linked from the page of a pipeline. `{traceId}` is replaced by the ID.',
)

export const pageOptions = {
  enabled: setting(boolean, { variable: 'PIPESPAN_PAGES', default: 'true' }).describe(
    'Serve the pages and their JSON API. `false`: a sidecar that neither loads nor computes what only they show; health checks, `/metrics` and `pipespan doctor` stay.',
  ),
  logs: setting(boolean, { default: 'false' }).describe(
    "Show job logs on the pages, redacted, fetched on demand with the platform token. Everyone with the admin token can read them with the daemon's permissions.",
  ),
  groupBy: setting(text, { example: 'team' }).describe(
    'Name of one of your attributes (`attributes.rules`), by which the pages add up figures, and filter projects (`own=VALUE`): by the literal values of rules that need no more than a project and a class of branches.',
  ),
  hide: setting(projectPatterns, { protects: 'each', example: 'secret/**' }).describe(
    'Projects hidden from the pages, their JSON API, `/mcp` and `/metrics`; they are still exported.',
  ),
}
