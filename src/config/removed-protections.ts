// What a reload would take away that protects somebody: secrets, what is hidden or redacted, who may see what, every destination. A file that was cut
// looks the same as one from which they were removed, so only a restart removes them.
import { destinationsOf } from './destinations.ts'
import { LiveSecret } from './live-secret.ts'
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
  const [known, now] = [byItem(before.settings), byItem(after.settings)]
  const gone = [...known].flatMap(([key, setting]) => {
    const left = now.get(key)
    const isGone = setting.option.spec.protects === true && isSet(setting) && left !== undefined && !isSet(left)
    return isGone ? [faultOf(left.path, 'A reload does not remove what protects.')] : []
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

function isSet({ option: { kind }, value }: Setting): boolean {
  const current = value instanceof LiveSecret ? (value as LiveSecret<unknown>).current() : value
  if (Array.isArray(current)) return current.length > 0
  // Of headers only their templates protect: they divide tenants.
  return typeof current === 'boolean' ? current : current !== undefined && kind.shape?.(current) !== ''
}

/** By paths that have an item's name, not its place in the list: `destinations[tempo].projects.include`. */
function byItem(settings: readonly Setting[]): Map<string, Setting> {
  const names = new Map(
    settings.flatMap(({ path, value }) => {
      const [, item] = /^(.*\[\d+\])\.(?:name|who)$/.exec(path) ?? []
      return item === undefined ? [] : [[item, String(value)] as const]
    }),
  )
  return new Map(
    settings.map(setting => [
      setting.path.replace(/^.*?\[\d+\]/, item => `${item.replace(/\[\d+\]$/, '')}[${names.get(item) ?? item}]`),
      setting,
    ]),
  )
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
