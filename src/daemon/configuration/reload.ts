// Handles SIGHUP: reads and checks the configuration again, and reports which changes a reload can apply, which need a restart, and why a reload is
// rejected.
import { describeSource, type ConfigFault } from './config-fault.ts'
import { LiveSecret } from './live-secret.ts'
import { platformViews } from './platforms.ts'
import { loadConfig, type FaultyConfig, type LoadedConfig, type LoadOptions } from './load.ts'
import { Secret } from '../../lib/secret.ts'
import type { Config } from './options.ts'
import { type Setting, shown } from './reader.ts'
import { destinationsOf } from './destinations.ts'
import { LinearPattern } from '../../lib/text-redaction.ts'

interface ReloadedConfig<P extends string> {
  readonly ok: true
  /** The new configuration, except that settings that need a restart keep their running values. */
  readonly loaded: LoadedConfig<P>
  /**
   * The paths of the changed settings that a reload can apply. If the list is empty, nothing has changed except perhaps secrets, which the running
   * configuration already uses.
   */
  readonly changed: readonly string[]
  /** The paths of the changed settings that need a restart, each with an explanatory sentence. */
  readonly restart: ReadonlyMap<string, string>
}

/** Reads the configuration again. `options` are the options that the running configuration was loaded with. If there are faults, nothing changes. */
export function reloadConfig<P extends string>(
  running: LoadedConfig<P>,
  options: LoadOptions<P>,
): ReloadedConfig<P> | FaultyConfig {
  const loaded = loadConfig(options)
  if (!loaded.ok) return loaded
  const before = new Map(running.settings.map(setting => [setting.path, setting]))
  const after = new Map(loaded.settings.map(setting => [setting.path, setting]))
  const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
    path => !isEqual(valueOf(before.get(path)), valueOf(after.get(path))),
  )
  const fixed = differing.filter(path => isRestartNeeded(before.get(path), after.get(path)))
  const restart = new Map(fixed.map(path => [path, needsRestart(path, before.get(path), after.get(path))]))
  // A different profile uses different names for headers, variables and events, so no part of the new configuration is comparable with the running
  // configuration.
  const isOfProfile = profileOf(loaded.config) !== profileOf(running.config)
  if (isOfProfile)
    restart.set(
      'platform.profile',
      'platform.profile: Another profile needs a restart to apply, and so do all other changes.',
    )
  const applied = isOfProfile ? [] : differing.filter(path => !restart.has(path))
  const removed = isOfProfile ? [] : removedProtections(running, loaded)
  if (removed.length > 0) return { ok: false, faults: removed, warnings: loaded.warnings }
  const secrets = applied.filter(path => isAnotherValue(before.get(path), after.get(path)))
  const changed = applied.filter(path => !secrets.includes(path))
  if (changed.length === 0) {
    if (!isOfProfile) for (const path of secrets) adopt(before.get(path)?.value, after.get(path)?.value)
    return { ok: true, loaded: running, changed, restart }
  }
  return { ok: true, loaded: withRunningValues(loaded, before, fixed), changed: applied, restart }
}

function profileOf<P extends string>(config: Config<P>): P {
  return platformViews(config)[0]?.config.platform.profile ?? config.platform.profile
}

function isRestartNeeded(old: Setting | undefined, now: Setting | undefined): boolean {
  const restart = old?.option.spec.restart
  return restart === 'presence' ? (old?.value === undefined) !== (now?.value === undefined) : restart === true
}

/**
 * Whether the setting is a secret and only its value has changed. Objects that use it, such as a token's connection, then do not have to be rebuilt.
 */
function isAnotherValue(old: Setting | undefined, now: Setting | undefined): boolean {
  return now?.value instanceof LiveSecret && old !== undefined && shapeOf(old) === shapeOf(now)
}

function adopt(old: unknown, now: unknown): void {
  if (old instanceof LiveSecret && now instanceof LiveSecret) old.adopt(now)
}

/**
 * Returns the value for comparison. Two secrets from the same file count as equal unless their shapes differ, because a secret is looked up on each
 * use.
 */
function valueOf(setting: Setting | undefined): unknown {
  if (!(setting?.value instanceof LiveSecret)) return setting?.value
  const secret: unknown = setting.value.current()
  if (setting.value.path !== undefined) return { path: setting.value.path, shape: shapeOf(setting) }
  return { secret: secret instanceof Map ? Object.fromEntries<unknown>(secret as Map<string, unknown>) : secret }
}

/** Returns the properties of a secret on which other parts depend, as `Kind.shape` returns them; undefined if the setting is not a secret. */
function shapeOf({ value, option: { kind } }: Setting): string | undefined {
  const secret: unknown = value instanceof LiveSecret ? value.current() : undefined
  return secret === undefined ? undefined : kind.shape(secret)
}

function needsRestart(path: string, old: Setting | undefined, now: Setting | undefined): string {
  const [was, is] = [old === undefined ? 'none' : shown(old), now === undefined ? 'none' : shown(now)]
  const where = now === undefined ? '' : ` (${describeSource(now.source)})`
  return `${path}: ${is === was ? 'another value' : is}${where} needs a restart to apply; ${was} stays in use until then.`
}

/** Returns the loaded configuration, but with the running values at these paths. */
function withRunningValues<P extends string>(
  loaded: LoadedConfig<P>,
  before: ReadonlyMap<string, Setting>,
  paths: readonly string[],
): LoadedConfig<P> {
  const settings = new Map(loaded.settings.map(setting => [setting.path, setting]))
  for (const path of paths) {
    const old = before.get(path)
    if (old === undefined) continue
    settings.set(path, old)
    setAt(loaded.config, path, old.value)
  }
  return { ...loaded, settings: [...settings.values()] }
}

/** Sets a setting's value by YAML path: `store.max_size` is at `store.maxSize`. */
function setAt(config: object, path: string, value: unknown): void {
  const keys = path.split('.').map(key => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
  let group = config as Record<string, unknown>
  for (const key of keys.slice(0, -1)) group = group[key] as Record<string, unknown>
  group[keys.at(-1) ?? ''] = value
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a instanceof Secret && b instanceof Secret) return a.equals(b.reveal())
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const [left, right] = [Object.entries(a), Object.entries(b)]
  return (
    left.length === right.length && left.every(([key, value]) => isEqual(value, (b as Record<string, unknown>)[key]))
  )
}

// Detects which protections a reload would remove: secrets, what is hidden or redacted, who may see what, and the last destination. A truncated file
// looks the same as a file from which protections were removed, so removing a protection takes a restart.
interface Compared {
  readonly config: Config
  readonly settings: readonly Setting[]
}

const noDestination = 'A reload does not remove the last destination.'
const remedy = 'Restart the daemon to apply this change, or undo it.'

/**
 * Returns faults for removed protections. If a whole item was removed, its settings are not faults: without its destination, platform or person there
 * is nothing left to protect.
 */
function removedProtections(before: Compared, after: Compared): ConfigFault[] {
  const [known, now] = [byItem(before.settings), byItem(after.settings, nameCompleter(before.settings, after.settings))]
  const gone = [...known].flatMap(([key, setting]) => {
    const left = now.get(key)
    return left !== undefined && losesProtection(setting, left)
      ? [faultOf(left.path, 'A reload does not remove a protection.')]
      : []
  })
  if (gone.length === 0 && !takesAnyWebhook(before.config) && takesAnyWebhook(after.config))
    gone.push(faultOf('platforms', 'A reload does not remove the last webhook secret.'))
  if (hasDestination(before.config) && !hasDestination(after.config))
    gone.push(faultOf(isExportOff(after.config) ? 'observability.export' : 'destinations', noDestination))
  return gone
}

function faultOf(setting: string, what: string): ConfigFault {
  return { setting, source: { from: 'default' }, what, remedy }
}

function losesProtection(before: Setting, after: Setting): boolean {
  const [was, is] = [protectionsOf(before), protectionsOf(after)]
  // The last entry of a truncated file may itself be truncated.
  const whole = is.filter(text => was.includes(text) || !was.some(one => one.startsWith(text)))
  const isShorter = whole.length < was.length && whole.every(text => was.includes(text))
  return isShorter && (whole.length === 0 || whole.length < is.length || before.option.spec.protects === 'each')
}

/** Returns the values of a setting that protect data or people: the entries of a list, the templates in headers, or the setting's only value. */
function protectionsOf({ option: { kind, spec }, value }: Setting): readonly string[] {
  if (spec.protects === undefined) return []
  const current = value instanceof LiveSecret ? (value as LiveSecret<unknown>).current() : value
  // Of a setting that contains headers, only the templates protect something: they separate tenants.
  return current !== undefined && kind.spec.shape
    ? kind.spec.shape(current).split(',').filter(Boolean)
    : stringsOf(current)
}

function stringsOf(value: unknown): readonly string[] {
  if (value === undefined || value === false) return []
  if (Array.isArray(value)) return value.flatMap(stringsOf)
  if (value instanceof LinearPattern) return [value.source]
  if (value instanceof Secret) return [value.reveal()]
  return [typeof value === 'string' ? value : JSON.stringify(value)]
}

/** Indexes settings by paths that contain an item's name instead of its index: `destinations[tempo].projects.include`. */
function byItem(settings: readonly Setting[], name = (one: string): string => one): Map<string, Setting> {
  const names = new Map(itemsOf(settings).map(([item, own]) => [item, name(own)]))
  return new Map(
    settings.map(setting => [
      setting.path.replace(/^.*?\[\d+\]/, item => `${item.replace(/\[\d+\]$/, '')}[${names.get(item) ?? item}]`),
      setting,
    ]),
  )
}

/** Returns pairs of an item's path and its name. */
function itemsOf(settings: readonly Setting[]): (readonly [string, string])[] {
  return settings.flatMap(({ path, value }) => {
    const [, item] = /^(.*\[\d+\])\.(?:name|who)$/.exec(path) ?? []
    return item === undefined ? [] : [[item, String(value)] as const]
  })
}

/**
 * Returns a function that completes item names. If a name was cut off because the file is truncated, the function returns the full name from the
 * running configuration.
 */
function nameCompleter(before: readonly Setting[], after: readonly Setting[]): (name: string) => string {
  const now = new Set(itemsOf(after).map(([, name]) => name))
  const names = itemsOf(before).map(([, name]) => name)
  const gone = names.filter(name => !now.has(name))
  return name => (names.includes(name) ? name : (gone.find(one => one.startsWith(name)) ?? name))
}

function takesAnyWebhook({ platforms, webhook }: Config): boolean {
  return platforms.length === 0 && (webhook.token.current() ?? webhook.signingToken.current()) === undefined
}

/** Whether a destination is configured. The implicit destination, which is used if none is configured, does not count. */
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
