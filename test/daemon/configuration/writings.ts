// The values that an operator may write for an option, by the name of the option's value type.
import fc from 'fast-check'

const tls = 'test/fixtures/tls'
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

/** Generates values for types whose names describe them: one of a few values, or an integer within bounds. */
function reported(noun: string): fc.Arbitrary<string> {
  const [, min, max] = /^a whole number from (-?\d+) to (-?\d+)$/.exec(noun) ?? []
  if (min !== undefined) return fc.integer({ min: Number(min), max: Number(max) }).map(String)
  return fc.constantFrom(...[...noun.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? ''))
}

/** Generators of the values that an operator may write, by the name of the value type. */
const writings: Record<string, (noun: string) => fc.Arbitrary<string>> = {
  'a string': () => line,
  'a number from 0 to 1': () => fc.constantFrom('0', '0.25', '1', '1.0'),
  'a boolean': () => fc.constantFrom('true', 'false', 'True'),
  'a duration': () => fc.tuple(fc.nat(10_000), fc.constantFrom('ms', 's', 'm', 'h', 'd')).map(parts => parts.join('')),
  'a duration of at least 1s': () =>
    fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.constantFrom('s', 'm', 'h', 'd')).map(parts => parts.join('')),
  'a timeout': () =>
    fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.constantFrom('', 'ms', 's')).map(parts => parts.join('')),
  'a size': () => fc.tuple(fc.nat(9999), fc.constantFrom('B', 'KiB', 'MiB', 'GiB')).map(parts => parts.join('')),
  'a PEM file with certificates': () => fc.constantFrom(`${tls}/first.cert.pem`, `./${tls}/first.cert.pem`),
  'a PEM file with an unencrypted private key': () => fc.constantFrom(`${tls}/first.key.pem`, `./${tls}/first.key.pem`),
  'an http or https URL': () => url,
  'the URL of a proxy': () => url.map(text => text.replace(/(:\d+).*/, '$1')),
  'the URL of a store': () => word.map(name => `sqlite:./${name}`),
  'a listen address': () =>
    fc.tuple(fc.constantFrom('127.0.0.1', '127.1.2.3', 'localhost', '[::1]'), port).map(parts => parts.join(':')),
  'a path that starts with /': () => fc.array(word, { maxLength: 3 }).map(parts => `/${parts.join('/')}`),
  'a list': () => fc.array(word, { minLength: 1 }).map(items => items.join(',')),
  'a list of IDs and full paths': () =>
    fc
      .array(
        fc.oneof(
          fc.nat(9999).map(String),
          fc.array(word, { minLength: 1, maxLength: 3 }).map(parts => parts.join('/')),
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map(items => items.join(',')),
  'the name of a header': () => fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/).map(name => `x-${name}`),
  'a list of host names': () =>
    fc
      .array(fc.stringMatching(/^[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,8}){0,2}$/), { minLength: 1 })
      .map(names => names.join(',')),
  'a list of addresses and networks': () =>
    fc
      .array(
        fc.oneof(
          fc.ipV4(),
          fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })).map(parts => parts.join('/')),
        ),
        {
          minLength: 1,
          maxLength: 3,
        },
      )
      .map(items => items.join(',')),
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
  'a list of patterns of full paths': () =>
    fc
      .array(
        fc
          .array(fc.constantFrom('*', '**', 'a', '{x,y}', '?b', '[a-c]'), { minLength: 1, maxLength: 3 })
          .map(parts => parts.join('/')),
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

export function writingOf(noun: string): fc.Arbitrary<string> {
  return (writings[noun] ?? reported)(noun)
}
