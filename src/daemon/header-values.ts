// What the templates in the headers of a destination stand for: `{platform}`, its name in `platforms`;
// `{group}`, the top-level group; `{project.id}`; `{own.NAME}`, an attribute that
// `attributes.rules` set by the project alone (checked in `daemon/configuration/destination-checks.ts`).
import { platformNames } from './connections.ts'
import { literalOf } from '../core/telemetry/custom-attributes.ts'
import { namesIn } from '../lib/template.ts'
import type { PlatformOf } from '../lib/chooser.ts'
import type { Config } from './configuration/options.ts'
import type { Destination } from '../core/send/destination.ts'
import type { Headers } from './configuration/pair-kinds.ts'
import type { Subject } from '../model/route.ts'

/** Values are percent-encoded. Undefined if the headers have no templates. */
export function headerValuesOf(headers: Headers, config: Config): Destination['headerValues'] {
  const names = new Set([...headers.values()].flatMap(value => namesIn(value.reveal())))
  if (names.size === 0) return undefined
  const platformOf = platformNames(config)
  const known = [...names].map(name => [name, valueOf(name, config.attributes.rules, platformOf)] as const)
  return subject => {
    const values: Record<string, string> = {}
    for (const [name, of] of known) {
      const value = of(subject) ?? ''
      if (value === '') return undefined
      values[name] = encodeURIComponent(value)
    }
    return values
  }
}

function valueOf(
  name: string,
  rules: Config['attributes']['rules'],
  platformOf: PlatformOf,
): (subject: Subject) => string | undefined {
  if (name === 'platform') return ({ instance = '' }) => platformOf(instance)
  if (name === 'group') return ({ path }) => (path === undefined ? undefined : /^[^/]+/.exec(path)?.[0])
  if (name === 'project.id') return ({ projectId }) => projectId?.toString()
  const literal = literalOf(rules, name.replace(/^own\./, ''), platformOf)
  return ({ path, instance }) => (path === undefined ? undefined : literal(path, '', instance))
}
