// A valid value means the same in a variable, in the YAML file, and as `config check --show` prints it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { good } from './given.ts'
import { allOptions } from '../../src/config/options.ts'
import { profiles } from '../../src/platform/profile.ts'
import { rowsOf, variablesOf } from '../../src/config/option.ts'
import { Secret } from '../../src/lib/secret.ts'
import { LiveSecret } from '../../src/config/live-secret.ts'
import { runs } from '../full.ts'

const word = fc.stringMatching(/^[a-z][a-z0-9.-]{0,12}[a-z0-9]$/)
const line = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/)
const port = fc.integer({ min: 1, max: 65_535 })
const url = fc
  .tuple(fc.constantFrom('http', 'https'), fc.ipV4(), port, fc.constantFrom('', '/', '/a/b', '/a?b=c'))
  .map(([scheme, host, number, rest]) => `${scheme}://${host}:${number}${rest}`)
const glob = fc.array(fc.constantFrom('*', '**', 'a', '/', '{x,y}', '?', '-', '.', '[a-c]'), {
  minLength: 1,
  maxLength: 6,
})

/** Kinds whose names say what may be written: one of a few words, or a whole number within bounds. */
function reported(noun: string): fc.Arbitrary<string> {
  const [, min, max] = /^a whole number from (-?\d+) to (-?\d+)$/.exec(noun) ?? []
  if (min !== undefined) return fc.integer({ min: Number(min), max: Number(max) }).map(String)
  return fc.constantFrom(...[...noun.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? ''))
}

/** What an operator may write, by what a value of the kind is called. */
const writings: Record<string, (noun: string) => fc.Arbitrary<string>> = {
  'a string': () => line,
  'a boolean': () => fc.constantFrom('true', 'false', 'True'),
  'a duration': () => fc.tuple(fc.nat(10_000), fc.constantFrom('ms', 's', 'm', 'h', 'd')).map(parts => parts.join('')),
  'a timeout': () =>
    fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.constantFrom('', 'ms', 's')).map(parts => parts.join('')),
  'a size': () => fc.tuple(fc.nat(9999), fc.constantFrom('B', 'KiB', 'MiB', 'GiB')).map(parts => parts.join('')),
  'a file': () => fc.constantFrom('package.json', './tsconfig.json'),
  'an http or https URL': () => url,
  'the URL of a proxy': () => url,
  'the URL of a store': () => word.map(name => `sqlite:./${name}`),
  'a listen address': () =>
    fc.tuple(fc.constantFrom('127.0.0.1', '127.1.2.3', 'localhost', '[::1]'), port).map(parts => parts.join(':')),
  'a path that starts with /': () => fc.array(word, { maxLength: 3 }).map(parts => `/${parts.join('/')}`),
  'a list': () => fc.array(word, { minLength: 1 }).map(items => items.join(',')),
  'a list of paths': () =>
    fc.array(word, { minLength: 1, maxLength: 3 }).map(names => names.map(name => `t/${name}.otlp.json`).join(',')),
  'a list of regular expressions': () =>
    fc
      .array(fc.constantFrom('a', '[b,c]d', 'x{2,3}', '(e|f)+', '\\d'), { minLength: 1, maxLength: 3 })
      .map(some => some.join(',')),
  'a list of patterns': () =>
    fc
      .array(
        glob.map(parts => parts.join('')),
        { minLength: 1, maxLength: 3 },
      )
      .map(items => items.join(',')),
  'a list of bounds': () =>
    fc
      .uniqueArray(fc.integer({ min: 1, max: 9999 }), { minLength: 1, maxLength: 5 })
      .map(bounds => bounds.toSorted((a, b) => a - b).join(',')),
  'a secret': () => line,
  'an admin token': () => fc.stringMatching(/^[!-~]{16,40}$/),
  'a link to a trace': () => url.map(text => `${text}/{traceId}`),
  'a list of secrets': () => line.filter(text => !/^[, ]*$/.test(text)),
  'a list of signing secrets': () =>
    fc.uint8Array({ minLength: 24, maxLength: 32 }).map(key => `whsec_${Buffer.from(key).toString('base64')}`),
  'a set of headers': () =>
    fc
      .dictionary(word, line, { minKeys: 1, maxKeys: 3 })
      .map(pairs => encoded(Object.entries(pairs).map(([key, value]) => [`x-${key}`, value]))),
  'a set of attributes': () =>
    fc
      .dictionary(word, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), { minKeys: 1, maxKeys: 3 })
      .map(pairs => encoded(Object.entries(pairs))),
}

function encoded(pairs: string[][]): string {
  return pairs.map(pair => pair.map(encodeURIComponent).join('=')).join(',')
}

/** Everything in it, secrets included, as plain data. */
function plain(value: unknown): unknown {
  if (value instanceof LiveSecret) return plain((value as LiveSecret<unknown>).current())
  if (value instanceof Secret) return value.reveal()
  if (value instanceof Map) return [...(value as Map<string, unknown>)].map(plain)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]))
}

function nested(path: string, text: string): string {
  const tree = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), text)
  return stringify(tree)
}

describe('a value means the same wherever it is written', () => {
  const rows = rowsOf(allOptions(profiles)).filter(({ path }) => !path.includes('[]') && path !== 'config')

  it.each(rows.map(row => [row.path, row] as const))('%s', (path, { option }) => {
    const { noun, secret } = option.kind
    const writing = (writings[noun] ?? reported)(noun)
    const [variable = ''] = variablesOf(option, profiles.generic)
    // A signature that is required, or half of a pair, needs its other half; polling needs a platform and a token; logs on pages need an admin token.
    const others = {
      PIPESPAN_ADMIN_TOKEN: 'an-admin-token-of-this-test',
      PIPESPAN_PLATFORM_URL: 'https://git.example.com',
      PIPESPAN_PLATFORM_TOKEN: 'pat-1',
      PIPESPAN_PUBLIC_URL: 'https://pipespan.example.com',
      PIPESPAN_POLL_PROJECTS: 'team/shop',
      PIPESPAN_WEBHOOK_SIGNING_TOKEN: 'whsec_c2VjcmV0',
      ...(path.startsWith('tls.')
        ? { PIPESPAN_TLS_CERT_FILE: 'package.json', PIPESPAN_TLS_KEY_FILE: 'package.json' }
        : {}),
      ...(path === 'reports' ? { PIPESPAN_DOTENV_KEYS: 'VERSION' } : {}),
      ...(path.includes('client_')
        ? { OTEL_EXPORTER_OTLP_CLIENT_KEY: 'package.json', OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: 'package.json' }
        : {}),
    }
    const env = Object.fromEntries(Object.entries(others).filter(([name]) => name !== variable))
    fc.assert(
      fc.property(writing, text => {
        const fromVariable = good({ ...env, [variable]: text })
        const fromFile = good(env, nested(path, text))
        expect(plain(fromFile.config)).toEqual(plain(fromVariable.config))
        const { value } = fromVariable.settings.find(setting => setting.path === path)!
        if (secret || value instanceof Secret) return
        expect(plain(good({ ...env, [variable]: option.kind.show(value) }).config)).toEqual(plain(fromVariable.config))
      }),
      runs(15),
    )
  })
})
