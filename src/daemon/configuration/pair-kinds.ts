// Setting types for key=value pairs: OTLP headers and resource attributes. In a variable, they have the format of the OpenTelemetry specification
// (W3C Baggage without metadata, percent-encoded); in YAML, they are a mapping of plain values.
import { z } from 'zod'
import { namesIn } from '../../lib/template.ts'
import { Secret } from '../../lib/secret.ts'
import type { Wrong } from './config-fault.ts'
import { kind, reading, refusing, wrong, type Parsed } from './kind.ts'
import { headerValueProblem } from './secret-kinds.ts'

/** HTTP header values, by header name in lower case. */
export type Headers = ReadonlyMap<string, Secret>

/** The headers that the exporter sets itself, because they describe the body. */
const ownHeaders = ['connection', 'content-encoding', 'content-length', 'content-type', 'transfer-encoding']

const pairsRemedy = 'Write key=value pairs with commas between them, or a YAML mapping.'

const pairs = z.unknown().transform(reading(pairsIn)).pipe(z.record(z.string(), z.string()))

function jsonOf(value: object) {
  return { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: value }] }
}

export const headers = kind<Headers>(
  pairs
    .superRefine(refusing(wrongHeader))
    .transform(all => new Map(Object.entries(all).map(([name, value]) => [name.toLowerCase(), new Secret(value)]))),
  {
    ...{ noun: 'a set of headers', item: 'a plain value', remedy: pairsRemedy, secret: true },
    json: jsonOf({ type: 'string' }),
    show: values => [...values.keys()].map(name => `${name}=[secret]`).join(','),
    shape: values => [...new Set([...values.values()].flatMap(value => namesIn(value.reveal())))].sort().join(),
  },
)

function wrongHeader(all: Readonly<Record<string, string>>): Wrong | undefined {
  for (const [name, value] of Object.entries(all)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
      return { what: 'A header name is invalid in HTTP.', remedy: 'Use letters, digits and dashes, such as x-api-key.' }
    if (ownHeaders.includes(name.toLowerCase()))
      return { what: `The header ${name} is set by Pipespan itself.`, remedy: 'Remove it.' }
    const problem = headerValueProblem(value)
    const remedy = 'Write printable ASCII; percent-encode only in the key=value form.'
    if (problem !== undefined) return { what: `The header ${name} contains ${problem}.`, remedy }
  }
  return undefined
}

/** Attribute values by name. All values are strings, as in the corresponding variable of the OpenTelemetry specification. */
export const attributes = kind<Readonly<Record<string, string>>>(pairs, {
  ...{ noun: 'a set of attributes', item: 'a plain value', remedy: pairsRemedy },
  json: jsonOf({ type: ['string', 'number', 'boolean'] }),
  show: values =>
    Object.entries(values)
      .map(pair => pair.map(encodeURIComponent).join('='))
      .join(','),
})

/** Parses the value of a variable into pairs; returns a mapping unchanged. */
function pairsIn(raw: unknown): Parsed<Record<string, string>> {
  if (typeof raw !== 'string') return { value: raw as Record<string, string> }
  const found: [string, string][] = []
  const items = raw.split(',').map(item => item.trim())
  for (const [index, item] of items.filter(one => one !== '').entries()) {
    const equals = item.indexOf('=')
    if (equals < 1) return wrong(`Pair ${index + 1} has no key or no "=".`, pairsRemedy)
    try {
      const [key = '', value = ''] = [item.slice(0, equals), item.slice(equals + 1)].map(part =>
        decodeURIComponent(part.trim()),
      )
      found.push([key, value])
    } catch {
      return wrong(`Pair ${index + 1} is not percent-encoded correctly.`, 'Write a literal percent sign as %25.')
    }
  }
  return { value: Object.fromEntries(found) }
}
