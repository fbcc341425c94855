// Kinds of key=value pairs: OTLP headers and resource attributes. In a variable they are written as the OpenTelemetry
// specification says (W3C Baggage without metadata, percent-encoded), in YAML as a mapping of plain values.
import { namesIn } from '../../lib/template.ts'
import { Secret } from '../../lib/secret.ts'
import { itemsOf } from './list-kinds.ts'
import { wrong, type Kind, type Parsed, type Raw } from './kind.ts'
import { headerValueProblem } from './secret-kinds.ts'

/** Values by header name in lower case. */
export type Headers = ReadonlyMap<string, Secret>

const pairsSchema = { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: 'string' } }] }

/** Headers that the exporter sets itself, because they describe the body. */
const ownHeaders = ['connection', 'content-encoding', 'content-length', 'content-type', 'transfer-encoding']

export const headers: Kind<Headers> = {
  noun: 'a set of headers',
  secret: true,
  schema: pairsSchema,
  parse: raw => {
    const pairs = pairsOf(raw)
    if ('wrong' in pairs) return pairs
    for (const [name, value] of pairs.value) {
      if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
        return wrong('A header name is invalid in HTTP.', 'Use letters, digits and dashes, such as x-api-key.')
      }
      if (ownHeaders.includes(name.toLowerCase())) {
        return wrong(`The header ${name} is set by Pipespan itself.`, 'Remove it.')
      }
      const problem = headerValueProblem(value)
      if (problem !== undefined) {
        return wrong(
          `The header ${name} contains ${problem}.`,
          'Write printable ASCII; percent-encode only in the key=value form.',
        )
      }
    }
    return { value: new Map([...pairs.value].map(([name, value]) => [name.toLowerCase(), new Secret(value)])) }
  },
  show: values => [...values].map(([name]) => `${name}=[secret]`).join(','),
  shape: values => [...new Set([...values.values()].flatMap(value => namesIn(value.reveal())))].sort().join(),
}

/** Attribute values by name. All are strings, as in the specification's variable. */
export const attributes: Kind<Readonly<Record<string, string>>> = {
  noun: 'a set of attributes',
  secret: false,
  schema: {
    anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } }],
  },
  parse: raw => {
    const pairs = pairsOf(raw)
    return 'wrong' in pairs ? pairs : { value: Object.fromEntries(pairs.value) }
  },
  show: values =>
    Object.entries(values)
      .map(pair => pair.map(encodeURIComponent).join('='))
      .join(','),
}

function pairsOf(raw: Raw): Parsed<ReadonlyMap<string, string>> {
  if (raw instanceof Map) return { value: raw as ReadonlyMap<string, string> }
  const remedy = 'Write key=value pairs with commas between them, or a YAML mapping.'
  if (typeof raw !== 'string') return wrong('A list is not a set of pairs.', remedy)
  const items = itemsOf(raw)
  if ('wrong' in items) return items
  const pairs = new Map<string, string>()
  for (const [index, item] of items.value.entries()) {
    const equals = item.indexOf('=')
    if (equals < 1) return wrong(`Pair ${index + 1} has no key or no "=".`, remedy)
    try {
      const [key, value] = [item.slice(0, equals), item.slice(equals + 1)].map(part => decodeURIComponent(part.trim()))
      if (key !== undefined && value !== undefined) pairs.set(key, value)
    } catch {
      return wrong(`Pair ${index + 1} is not percent-encoded correctly.`, 'Write a percent sign itself as %25.')
    }
  }
  return { value: pairs }
}
