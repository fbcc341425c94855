// The effective settings as the operator would write them, each with its source. Secrets show as [secret].
import type { LoadedConfig } from './load.ts'
import type { Setting } from './reader.ts'
import { describeSource } from './config-fault.ts'
import { LiveSecret } from './live-secret.ts'

/** A line for every setting: `settle = 5s (default)`. */
export function describeConfig({ settings }: LoadedConfig): string {
  return settings.map(setting => `${setting.path} = ${shown(setting)} (${describeSource(setting.source)})`).join('\n')
}

/** The value as the operator would write it, or what applies without one. */
export function shown({ option: { kind, spec }, value }: Pick<Setting, 'option' | 'value'>): string {
  const current = value instanceof LiveSecret ? (value as LiveSecret<unknown>).current() : value
  if (current !== undefined) return kind.show(current)
  return spec.unset === undefined ? 'none' : `none: ${spec.unset.replaceAll('`', '')}`
}
