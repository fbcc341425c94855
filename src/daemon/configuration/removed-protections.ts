// What a reload would take away that protects somebody: secrets, what is hidden or redacted, who may see what, every destination. A file that was cut
// looks the same as one from which they were removed, so only a restart removes them.
import { destinationsOf } from './destinations.ts'
import { LinearPattern } from '../../lib/text-redaction.ts'
import { LiveSecret } from './live-secret.ts'
import { Secret } from '../../lib/secret.ts'
import type { Config } from './options.ts'
import type { ConfigFault } from './config-fault.ts'
import type { Setting } from './reader.ts'

export interface Compared {
  readonly config: Config
  readonly settings: readonly Setting[]
}

const noDestination = 'A reload does not remove every destination.'
const remedy = 'Restart to apply it, or write it again.'

/** Nothing that is missing because its whole item is: without its item, a destination, a platform or a person has nothing to protect. */
export function removedProtections(before: Compared, after: Compared): ConfigFault[] {
  const [known, now] = [byItem(before.settings), byItem(after.settings, uncut(before.settings, after.settings))]
  const gone = [...known].flatMap(([key, setting]) => {
    const left = now.get(key)
    return left !== undefined && isLost(setting, left)
      ? [faultOf(left.path, 'A reload does not remove what protects.')]
      : []
  })
  if (gone.length === 0 && !takesAnyWebhook(before.config) && takesAnyWebhook(after.config))
    gone.push(faultOf('platforms', 'A reload does not remove the last secret of webhooks.'))
  if (hasDestination(before.config) && !hasDestination(after.config))
    gone.push(faultOf(isExportOff(after.config) ? 'observability.export' : 'destinations', noDestination))
  return gone
}

function faultOf(setting: string, what: string): ConfigFault {
  return { setting, source: { from: 'default' }, what, remedy }
}

function isLost(before: Setting, after: Setting): boolean {
  const [was, is] = [protectionsOf(before), protectionsOf(after)]
  // The last entry of a cut file may be cut itself.
  const whole = is.filter(text => was.includes(text) || !was.some(one => one.startsWith(text)))
  const isShorter = whole.length < was.length && whole.every(text => was.includes(text))
  return isShorter && (whole.length === 0 || whole.length < is.length || before.option.spec.protects === 'each')
}

/** What a setting protects by: the entries of a list, the templates of headers, or its only value. */
function protectionsOf({ option: { kind, spec }, value }: Setting): readonly string[] {
  if (spec.protects === undefined) return []
  const current = value instanceof LiveSecret ? (value as LiveSecret<unknown>).current() : value
  // Of headers only their templates protect: they divide tenants.
  return current !== undefined && kind.words.shape
    ? kind.words.shape(current).split(',').filter(Boolean)
    : textsOf(current)
}

function textsOf(value: unknown): readonly string[] {
  if (value === undefined || value === false) return []
  if (Array.isArray(value)) return value.flatMap(textsOf)
  if (value instanceof LinearPattern) return [value.source]
  if (value instanceof Secret) return [value.reveal()]
  return [typeof value === 'string' ? value : JSON.stringify(value)]
}

/** By paths that have an item's name, not its place in the list: `destinations[tempo].projects.include`. */
function byItem(settings: readonly Setting[], name = (one: string): string => one): Map<string, Setting> {
  const names = new Map(itemsOf(settings).map(([item, own]) => [item, name(own)]))
  return new Map(
    settings.map(setting => [
      setting.path.replace(/^.*?\[\d+\]/, item => `${item.replace(/\[\d+\]$/, '')}[${names.get(item) ?? item}]`),
      setting,
    ]),
  )
}

/** The names of items by their places. */
function itemsOf(settings: readonly Setting[]): (readonly [string, string])[] {
  return settings.flatMap(({ path, value }) => {
    const [, item] = /^(.*\[\d+\])\.(?:name|who)$/.exec(path) ?? []
    return item === undefined ? [] : [[item, String(value)] as const]
  })
}

/** The name that this one was before the file was cut within it. */
function uncut(before: readonly Setting[], after: readonly Setting[]): (name: string) => string {
  const now = new Set(itemsOf(after).map(([, name]) => name))
  const names = itemsOf(before).map(([, name]) => name)
  const gone = names.filter(name => !now.has(name))
  return name => (names.includes(name) ? name : (gone.find(one => one.startsWith(name)) ?? name))
}

function takesAnyWebhook({ platforms, webhook }: Config): boolean {
  return platforms.length === 0 && (webhook.token.current() ?? webhook.signingToken.current()) === undefined
}

/** The implied one, which is sent to if nothing is configured, does not count. */
function hasDestination(config: Config): boolean {
  const isGiven = config.destinations.length > 0 || config.otlp.endpoint !== undefined || hasSignalEndpoint(config)
  return isGiven && destinationsOf(config).length > 0
}

function isExportOff({ observability }: Config): boolean {
  return observability.export.length === 0
}

function hasSignalEndpoint({ otlp }: Config): boolean {
  return [otlp.traces, otlp.metrics, otlp.logs].some(({ endpoint }) => endpoint !== undefined)
}
