// Checks the platforms that patterns of projects name, such as `cloud:team/**`, and entries in which projects of several platforms meet.
import { namesPlatform } from '../../lib/chooser.ts'
import { namesIn } from '../../lib/template.ts'
import { platformViews } from './platforms.ts'
import type { Choice } from '../../lib/chooser.ts'
import type { Config } from './options.ts'
import type { ConfigFault, FaultOf } from './config-fault.ts'
import type { Setting } from './reader.ts'

/** Patterns of projects. `isTenant`: what they choose is for somebody, who should not get a project of another platform by its path. */
interface Patterns extends Choice {
  readonly at: string
  readonly isTenant?: true
}

function allPatterns(config: Config, settings: readonly Setting[]): Patterns[] {
  const { projects, pages, job, costs } = config
  return [
    { at: 'projects', ...projects },
    { at: 'pages.hide', exclude: pages.hide },
    { at: 'job.projects', include: job.projects },
    ...costs.rules.map(({ match }, index) => ({ at: `costs.rules[${index}].match.project`, include: match.project })),
    ...settings.flatMap(tenant),
  ]
}

/** What an entry of any list chooses, such as `destinations[0].projects`. */
function tenant({ path, value }: Setting): Patterns[] {
  const [, at, which] = /^(.+\]\.projects)\.(include|exclude)$/.exec(path) ?? []
  return at === undefined || which === undefined ? [] : [{ at, [which]: value, isTenant: true }]
}

function platformsOf(config: Config): string[] {
  return [...new Set(platformViews(config).map(({ platform }) => platform))]
}

/** A pattern for a platform that is not configured would never match. */
export function unknownPlatforms(config: Config, settings: readonly Setting[], faultOf: FaultOf): ConfigFault[] {
  const names = platformsOf(config)
  const known = new Set(names.map(name => name.toLowerCase()))
  return allPatterns(config, settings).flatMap(({ at, include = [], exclude = [] }) =>
    [...include, ...exclude].filter(namesPlatform).flatMap(pattern => {
      const name = pattern.slice(0, pattern.indexOf(':'))
      if (known.has(name.toLowerCase())) return []
      const what = `“${pattern}” is for the platform ${name}, which is not configured.`
      return [
        faultOf(at, what, `Begin it with one of: ${names.map(one => `${one}:`).join(', ')}, or with none of them.`),
      ]
    }),
  )
}

/** Two platforms may have projects of the same path. */
export function meetingPlatforms(config: Config, settings: readonly Setting[]): string[] {
  const names = platformsOf(config)
  if (names.length < 2) return []
  const all = names.join(', ')
  const patterns = allPatterns(config, settings).flatMap(({ at, include = [], isTenant }) => {
    const open = include.find(pattern => !namesPlatform(pattern) && pattern !== '**')
    if (isTenant !== true || open === undefined) return []
    return [
      `${at}: “${open}” matches projects of all platforms (${all}), which may have the same paths. ` +
        `Name the platform of each pattern, such as ${names[0] ?? ''}:${open}.`,
    ]
  })
  const headers = config.destinations.flatMap(({ headers: own, projects }, index) => {
    const used = [...(own.current()?.values() ?? [])].flatMap(value => namesIn(value.reveal()))
    const { include = [] } = projects
    const isOfOne = new Set(include.map(platformIn)).size === 1 && include.every(namesPlatform)
    if (used.length === 0 || used.includes('platform') || isOfOne) return []
    return [
      `destinations[${index}].headers: {${used.join('}, {')}} may be the same for projects of several platforms (${all}). ` +
        'Add {platform}, or give each platform a destination of its own.',
    ]
  })
  return [...patterns, ...headers]
}

function platformIn(pattern: string): string {
  return pattern.slice(0, pattern.indexOf(':') + 1).toLowerCase()
}
