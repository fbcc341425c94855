// A valid value has the same meaning in a variable, in the YAML file, and in the output of `config check --show`.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { good } from './given.ts'
import { plain } from './whole.ts'
import { writingOf } from './writings.ts'
import { allOptions } from '../../../src/daemon/configuration/options.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { rowsOf, variablesOf } from '../../../src/daemon/configuration/option.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { features } from '../../../src/features.ts'
import { runs } from '../../full.ts'

const tls = 'test/fixtures/tls'

/** A trusted header requires `admin.people`, which can only be set in the file. */
const people = { admin: { people: [{ who: '*', role: 'viewer' }] } }

function nested(path: string, text: string): string {
  const keys = path.split('.')
  if (isOfPeople(path)) return stringify({ admin: { ...people.admin, [keys.at(-1) ?? '']: text } })
  return stringify(keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), text))
}

function isOfPeople(path: string): boolean {
  return path.startsWith('admin.trusted_')
}

describe('the value of a setting in the file and in the environment', () => {
  const rows = rowsOf(allOptions(profiles, features)).filter(({ path }) => !path.includes('[]') && path !== 'config')

  it.each(rows.map(row => [row.path, row] as const))('reads %s the same way from each source', (path, { option }) => {
    const { noun, secret } = option.kind
    const writing = writingOf(noun)
    const [variable = ''] = variablesOf(option, profiles.generic)
    // The settings that other settings depend on: signatures can only be required with a signing token, a key needs its certificate, polling needs a
    // platform and a token, and showing logs on pages needs an admin token.
    const others = {
      PIPESPAN_ADMIN_TOKEN: 'an-admin-token-of-this-test',
      PIPESPAN_PLATFORM_URL: 'https://git.example.com',
      PIPESPAN_PLATFORM_TOKEN: 'pat-1',
      PIPESPAN_PUBLIC_URL: 'https://pipespan.example.com',
      PIPESPAN_POLL_PROJECTS: 'team/shop',
      PIPESPAN_WEBHOOK_SIGNING_TOKEN: 'whsec_c2VjcmV0',
      ...(path.startsWith('tls.')
        ? { PIPESPAN_TLS_CERT_FILE: `${tls}/first.cert.pem`, PIPESPAN_TLS_KEY_FILE: `${tls}/first.key.pem` }
        : {}),
      ...(isOfPeople(path)
        ? { PIPESPAN_ADMIN_TRUSTED_HEADER: 'x-user', PIPESPAN_ADMIN_TRUSTED_PROXIES: '10.0.0.1' }
        : {}),
      ...(path === 'reports' ? { PIPESPAN_DOTENV_KEYS: 'VERSION' } : {}),
      ...(path.includes('client_')
        ? {
            OTEL_EXPORTER_OTLP_CLIENT_KEY: `${tls}/first.key.pem`,
            OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: `${tls}/first.cert.pem`,
          }
        : {}),
    }
    const env = Object.fromEntries(Object.entries(others).filter(([name]) => name !== variable))
    const file = isOfPeople(path) ? stringify(people) : undefined
    fc.assert(
      fc.property(writing, text => {
        const fromVariable = good({ ...env, [variable]: text }, file)
        const fromFile = good(env, nested(path, text))
        expect(plain(fromFile.config)).toEqual(plain(fromVariable.config))
        const { value } = fromVariable.settings.find(setting => setting.path === path)!
        if (secret || value instanceof Secret) return
        const shown = good({ ...env, [variable]: option.kind.show(value) }, file)
        expect(plain(shown.config)).toEqual(plain(fromVariable.config))
      }),
      runs(15),
    )
  })
})
