import { describe, expect, it } from 'vitest'
import { attributes, headers } from '../../../src/daemon/configuration/pair-kinds.ts'
import {
  basePath,
  httpUrl,
  listenAddress,
  proxyUrl,
  storeUrl,
} from '../../../src/daemon/configuration/address-kinds.ts'
import { byteSize, duration, timeout } from '../../../src/daemon/configuration/plain-kinds.ts'
import { list, patterns, someOf, allNoneOr } from '../../../src/daemon/configuration/list-kinds.ts'
import type { Kind } from '../../../src/daemon/configuration/kind.ts'

/** Returns the parsed value, or `wrong` if it is invalid. */
function parsed(kind: Kind<unknown>, raw: unknown): unknown {
  const result = kind.parse(raw)
  return 'value' in result ? result.value : 'wrong'
}

describe('setting values', () => {
  it.each<[string, Kind<unknown>, unknown, unknown]>([
    ['duration', duration, '250ms', 250],
    ['duration', duration, '1h30m', 5_400_000],
    ['duration', duration, ' 7d ', 604_800_000],
    ['duration', duration, '0s', 0],
    ['duration', duration, '5', 'wrong'],
    ['duration', duration, '-5s', 'wrong'],
    ['duration', duration, '1.5h', 'wrong'],
    ['duration', duration, '5 s', 'wrong'],
    ['duration', duration, '5S', 'wrong'],
    ['duration', duration, `${'9'.repeat(400)}d`, 'wrong'],
    ['time-out', timeout, '10000', 10_000],
    ['time-out', timeout, '10s', 10_000],
    ['time-out', timeout, '0', 'wrong'],
    ['size', byteSize, '512MiB', 536_870_912],
    ['size', byteSize, '0B', 0],
    ['size', byteSize, '25 MiB', 26_214_400],
    ['size', byteSize, '512MB', 'wrong'],
    ['size', byteSize, '512', 'wrong'],
    ['URL', httpUrl, 'https://git.example.com/sub/', 'https://git.example.com/sub/'],
    ['URL', httpUrl, 'http:git.example.com', 'wrong'],
    ['URL', httpUrl, 'http://a b', 'wrong'],
    ['listen address', listenAddress, '[::]:8080', { host: '::', port: 8080 }],
    ['listen address', listenAddress, 'localhost:0', { host: 'localhost', port: 0 }],
    ['listen address', listenAddress, '0.0.0.0:65535', { host: '0.0.0.0', port: 65_535 }],
    ['listen address', listenAddress, ':8080', 'wrong'],
    ['listen address', listenAddress, '::1:8080', 'wrong'],
    ['listen address', listenAddress, '[127.0.0.1]:80', 'wrong'],
    ['listen address', listenAddress, '256.0.0.1:80', 'wrong'],
    ['listen address', listenAddress, '127.0.0.1:65536', 'wrong'],
    ['listen address', listenAddress, '127.0.0.1', 'wrong'],
    ['store', storeUrl, 'sqlite:./data/a.db', { engine: 'sqlite', path: './data/a.db' }],
    ['store', storeUrl, 'sqlite:/var/a.db', { engine: 'sqlite', path: '/var/a.db' }],
    ['store', storeUrl, 'sqlite:///var/a.db', { engine: 'sqlite', path: '/var/a.db' }],
    ['store', storeUrl, 'sqlite://a.db', 'wrong'],
    ['store', storeUrl, 'sqlite:', 'wrong'],
    ['store', storeUrl, 'sqlite:./data/', 'wrong'],
    ['store', storeUrl, 'sqlite:/', 'wrong'],
    ['store', storeUrl, 'sqlite:..', 'wrong'],
    ['store', storeUrl, 'sqlite:data/.', 'wrong'],
    ['store', storeUrl, 'sqlite:data/a\0b', 'wrong'],
    ['store', storeUrl, 'sqlite:data/..db', { engine: 'sqlite', path: 'data/..db' }],
    ['store', storeUrl, './a.db', 'wrong'],
    ['store', storeUrl, 'postgres:db', 'wrong'],
    ['base path', basePath, '/', ''],
    ['base path', basePath, '/ci/pipespan/', '/ci/pipespan'],
    ['base path', basePath, '/a//b', 'wrong'],
    ['base path', basePath, '/a?b', 'wrong'],
    ['list', list, 'a, b,,c', ['a', 'b', 'c']],
    ['list', list, ['a,b', ' c '], ['a,b', 'c']],
    ['patterns', patterns, 'main,release/{1,2},@(a|b,c)', ['main', 'release/{1,2}', '@(a|b,c)']],
    ['patterns', patterns, String.raw`a\,b,c`, [String.raw`a\,b`, 'c']],
    ['patterns', patterns, '[a-z', 'wrong'],
    ['choices', someOf(['traces', 'logs']), 'Logs,traces,logs', ['traces', 'logs']],
    ['choices', someOf(['traces', 'logs']), ',', 'wrong'],
    ['values', allNoneOr(['push', 'tag'], 'event'), 'Tag, push,tag', ['push', 'tag']],
    ['values', allNoneOr(['push', 'tag'], 'event'), ['tag'], ['tag']],
    ['values', allNoneOr(['push', 'tag'], 'event'), 'all', ['push', 'tag']],
    ['values', allNoneOr(['push', 'tag'], 'event'), 'none', []],
    ['values', allNoneOr(['push', 'tag'], 'event'), 'none,tag', 'wrong'],
    ['values', allNoneOr(['push', 'tag'], 'event'), 'tags', 'wrong'],
    ['values', allNoneOr(['push', 'tag'], 'event'), ',', 'wrong'],
    ['attributes', attributes, 'a=1,b%2C=x%20y=z, c = d ', { a: '1', 'b,': 'x y=z', c: 'd' }],
    ['attributes', attributes, { a: '100%' }, { a: '100%' }],
    ['attributes', attributes, 'a', 'wrong'],
    ['attributes', attributes, '=a', 'wrong'],
  ])('parses a %s, or rejects it if it is invalid (case %#)', (_, kind, raw, expected) => {
    expect(parsed(kind, raw)).toEqual(expected)
  })
})

describe('configured headers', () => {
  const revealed = (raw: unknown): unknown => {
    const result = headers.parse(raw)
    return 'value' in result
      ? Object.fromEntries([...result.value].map(([name, value]) => [name, value.reveal()]))
      : result.wrong.what
  }

  it('percent-decodes headers given as key=value pairs, and leaves headers in a mapping unchanged', () => {
    expect(revealed('Authorization=Basic%20YTpi,x-key=a=b')).toEqual({ authorization: 'Basic YTpi', 'x-key': 'a=b' })
    expect(revealed({ 'X-Key': '100%20' })).toEqual({ 'x-key': '100%20' })
  })

  it.each([
    ['x-key=a%0D%0AHost: evil', 'The header x-key contains a control character.'],
    ['x key=a', 'A header name is invalid in HTTP.'],
    ['content-length=5', 'The header content-length is set by Pipespan itself.'],
    ['x-key=%C3%BC', 'The header x-key contains a character outside ASCII.'],
  ])('rejects headers that would be invalid in a request: %s', (raw, what) => {
    expect(revealed(raw)).toBe(what)
  })
})

it.each([
  ['proxy:3128', 'http://proxy:3128'],
  ['http://user:pass@proxy:3128', 'http://user:pass@proxy:3128'],
])('accepts a proxy without a scheme: %s', (given, url) => {
  const result = proxyUrl.parse(given)
  expect('value' in result && result.value.reveal()).toBe(url)
})
