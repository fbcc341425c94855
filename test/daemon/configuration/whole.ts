// A configuration with everything that an operator can configure, and functions that list, read and replace its parts. Each list has one item with
// everything that the item needs.
import fc from 'fast-check'
import { stringify } from 'yaml'
import { allOptions } from '../../../src/daemon/configuration/options.ts'
import { Each, Option, yamlKey, type Group } from '../../../src/daemon/configuration/option.ts'
import { LiveSecret } from '../../../src/daemon/configuration/live-secret.ts'
import { LinearPattern } from '../../../src/lib/text-redaction.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { features } from '../../../src/features.ts'
import { writingOf } from './writings.ts'

const tls = 'test/fixtures/tls'

export type Tree = Record<string, unknown>

/** A single-platform configuration with all options that protect, hide or divide data. */
export const whole: Tree = {
  webhook: { token: 'a-webhook-token', signing_token: 'whsec_c2VjcmV0', require_signature: true },
  admin: {
    token: 'an-admin-token-of-tests',
    trusted_header: 'x-user',
    trusted_proxies: ['10.0.0.1'],
    people: [{ who: '*@corp.example', role: 'viewer', projects: { include: ['team/**'], exclude: ['team/secret'] } }],
  },
  pages: { hide: ['secret/**'], logs: true, group_by: 'team' },
  redact: ['key-[0-9]+'],
  dotenv_keys: ['VERSION'],
  public_url: 'https://pipespan.example.com',
  platform: { url: 'http://127.0.0.1:9', token: 'a-platform-token' },
  poll: { projects: ['team/shop'] },
  projects: { include: ['team/**'], exclude: ['team/old'] },
  attributes: {
    drop: ['pipeline.user.*'],
    hash: ['*.message'],
    rules: [
      { projects: { include: ['team/**'] }, set: { team: 'shop' } },
      {
        jobs: { include: ['test*'] },
        sources: { exclude: ['schedule'] },
        branches: ['default'],
        set: { kind: 'test' },
      },
      { set: { zone: 'north' } },
    ],
  },
  observability: { token: 'a-token-of-the-backend', url: 'http://127.0.0.1:9', api_key: 'a-key-of-the-instance' },
  otlp: { endpoint: 'http://127.0.0.1:9', headers: { x: 'one' } },
  destinations: [
    {
      name: 'tenants',
      endpoint: 'http://127.0.0.1:9/tenants',
      headers: { 'x-scope-orgid': '{group}', 'x-team': '{own.team}' },
      projects: { include: ['team/**'], exclude: ['team/secret'] },
    },
    { name: 'other', endpoint: 'http://127.0.0.1:9/other', token: 'another-token', signals: ['traces'] },
  ],
  notifications: [
    {
      name: 'mail',
      url: 'http://127.0.0.1:9/hooks/of-a-length-that-is-secret',
      format: 'email',
      to: ['team@corp.example'],
      headers: { authorization: 'Bearer of-mail' },
      projects: { include: ['team/**'] },
    },
  ],
  costs: {
    rules: [{ name: 'large', match: { tags: ['large'], type: 'group_type', project: ['team/**'] }, per_minute: '2' }],
  },
  queries: [
    { metric: 'issues.open', query: 'type = Issue', project: 'team/shop', attributes: { a: 'b' } },
    { metric: 'issues.weight', query: 'type = Issue', value: 'weight' },
  ],
}

/** The single-platform configuration, changed to have several platforms instead of one. */
export const several: Tree = {
  ...Object.fromEntries(
    Object.entries(whole).filter(([key]) => !['webhook', 'platform', 'poll', 'queries'].includes(key)),
  ),
  platforms: [
    {
      name: 'internal',
      url: 'http://127.0.0.1:9',
      token: 'token-of-internal',
      tokens: [{ groups: ['team/deep'], token: 'token-of-a-group' }],
      webhook: { token: 'webhook-of-internal', signing_token: 'whsec_aW50ZXJuYWw=', require_signature: true },
      poll: { projects: ['team/shop'] },
    },
    { name: 'public', url: 'http://127.0.0.2:9', webhook: { token: 'webhook-of-public' } },
  ],
}

export function yamlOf(tree: unknown): string {
  return stringify(tree)
}

type Step = string | number

/** Options that must change together with a given option, because one requires the other. */
export const companions: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'tls.cert_file': { 'tls.key_file': `${tls}/second.key.pem` },
  'tls.key_file': { 'tls.cert_file': `${tls}/second.cert.pem` },
  'pages.enabled': { 'pages.logs': false },
  ...Object.fromEntries(
    ['otlp', 'otlp.traces', 'otlp.metrics', 'otlp.logs'].flatMap(group => [
      [`${group}.client_key`, { [`${group}.client_certificate`]: `${tls}/second.cert.pem` }],
      [`${group}.client_certificate`, { [`${group}.client_key`]: `${tls}/second.key.pem` }],
    ]),
  ),
}

/** A group, list, list item or option of the configuration schema, whether or not it is set. The list items are those of a given configuration. */
export interface ConfigNode {
  readonly steps: readonly Step[]
  /** The option at this node; undefined for a group or a list. */
  readonly option?: Option | undefined
}

/** Returns one node for each group, list, list item and option. */
export function nodesIn(
  tree: unknown,
  group: Group = allOptions(profiles, features),
  before: readonly Step[] = [],
): ConfigNode[] {
  return Object.entries(group).flatMap(([key, entry]): ConfigNode[] => {
    const name = yamlKey(key)
    const steps = [...before, name]
    const inner = valueAt(tree, [name])
    if (entry instanceof Option) return entry.spec.variableOnly === true ? [] : [{ steps, option: entry }]
    if (!(entry instanceof Each)) return [{ steps }, ...nodesIn(inner, entry, steps)]
    const items = Array.isArray(inner) ? (inner as unknown[]) : []
    return [
      { steps },
      ...items.flatMap((item, index) => [
        { steps: [...steps, index] },
        ...nodesIn(item, entry.item, [...steps, index]),
      ]),
    ]
  })
}

/** Returns the path of a node, such as `destinations[0].name`. */
export function nameOf({ steps }: Pick<ConfigNode, 'steps'>): string {
  return steps.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')
}

export function valueAt(tree: unknown, steps: readonly Step[]): unknown {
  return steps.reduce<unknown>((inner, step) => (inner as Record<Step, unknown> | undefined)?.[step], tree)
}

/** Returns a copy of the tree in which the node at the end of `steps` has this value. If the value is undefined, the node is removed. */
export function withValue(tree: Tree, steps: readonly Step[], value: unknown): Tree {
  const copy = structuredClone(tree)
  let at = copy as Record<Step, unknown>
  for (const [index, step] of steps.slice(0, -1).entries()) {
    at[step] ??= typeof steps[index + 1] === 'number' ? [] : {}
    at = at[step] as Record<Step, unknown>
  }
  const last = steps.at(-1) ?? ''
  if (value !== undefined) at[last] = value
  else if (Array.isArray(at)) at.splice(Number(last), 1)
  else Reflect.deleteProperty(at, last)
  return copy
}

/** Returns some valid values of an option in the spellings that an operator may use. The values are the same on each run. */
export function writingsOf({ kind }: Option): unknown[] {
  const { noun } = kind
  if (noun === 'a mapping of attribute names to values') return [{ team: 'x', kind: 'y' }, { team: 'z' }]
  if (noun === 'the secret URL of a webhook')
    return [
      'http://127.0.0.1:9/hooks/another-one-that-is-secret',
      'http://127.0.0.9:9/hooks/another-host-that-is-secret',
    ]
  if (noun === 'a set of headers') return ['x=two', 'y=%7Bgroup%7D', 'z=%7Bproject.id%7D']
  if (noun.startsWith('the name of a ') && !noun.endsWith('header')) return ['renamed', 'renamed.too']
  if (noun === 'the full path of a project or group') return ['team/other', 'else']
  if (noun === 'a number from 0') return ['0.5', '3']
  if (noun === 'the protocol `http/protobuf`') return []
  if (noun.includes('PEM')) return [`${tls}/second.${noun.includes('key') ? 'key' : 'cert'}.pem`]
  return fc.sample(writingOf(noun), { numRuns: 8, seed: 7 })
}

/** Converts a value to plain data, revealing secrets. */
export function plain(value: unknown): unknown {
  if (value instanceof LiveSecret) return plain((value as LiveSecret<unknown>).current())
  if (value instanceof Secret) return value.reveal()
  if (value instanceof LinearPattern) return value.source
  if (value instanceof Map) return [...(value as Map<string, unknown>)].map(plain)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]))
}
