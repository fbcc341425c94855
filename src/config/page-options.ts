// The options of the pages: who may open them, where a trace is looked at, and which projects are not shown.
import { patterns } from './list-kinds.ts'
import { boolean } from './plain-kinds.ts'
import { scalar, type Kind } from './kind.ts'
import { secret } from './secret-kinds.ts'
import { secretSetting, setting } from './option.ts'
import type { Secret } from '../lib/secret.ts'

/** A shorter one could be guessed. */
const shortestAdminToken = 16

const adminTokenKind: Kind<Secret> = {
  ...secret,
  noun: 'an admin token',
  parse: raw => {
    const parsed = secret.parse(raw)
    if (!('value' in parsed) || parsed.value.reveal().length >= shortestAdminToken) return parsed
    const remedy = `Use at least ${shortestAdminToken} random characters, for instance from \`openssl rand -hex 24\`.`
    return { wrong: { what: 'The admin token is too short: it could be guessed.', remedy } }
  },
}

export const adminToken = secretSetting(adminTokenKind, {
  variable: 'PIPESPAN_ADMIN_TOKEN',
  says:
    'Opens the pages (log in with it, or send it as bearer) and `/metrics`: at least 16 characters. ' +
    'Needed where the admin listener is not on loopback.',
})

const traceLinkKind: Kind<string> = scalar({
  noun: 'a link to a trace',
  remedy:
    'Write an http(s) URL with {traceId} where the id belongs, such as https://tempo.example.com/trace/{traceId}.',
  read: given => {
    const url = URL.parse(given.replaceAll('{traceId}', '0'))
    const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
    return isWeb && given.includes('{traceId}') ? given : undefined
  },
})

export const traceLink = setting(traceLinkKind, {
  variable: 'PIPESPAN_TRACE_LINK',
  says: 'Where your trace backend shows a trace: the page of a pipeline links there. `{traceId}` stands for the id.',
  example: 'https://tempo.example.com/trace/{traceId}',
})

export const pageOptions = {
  logs: setting(boolean, {
    variable: 'PIPESPAN_PAGES_LOGS',
    default: 'false',
    says: 'The page of a job shows its log, redacted, fetched with the platform token when somebody asks for it: whoever has the admin token reads it by the rights of the daemon.',
  }),
  hide: setting(patterns, {
    variable: 'PIPESPAN_PAGES_HIDE',
    says: 'Projects that are left out of the pages, their JSON API and `/metrics`; they are exported all the same.',
    example: 'secret/**',
  }),
}
