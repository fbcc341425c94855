// Figures about what projects include (CI components, templates and files): which versions they use, and which projects are behind. They are computed
// from the inventory's last responses.
import { z } from 'zod'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { millis, type Shaped } from '../../console/layout/shape.ts'
import type { PagesSources } from '../../console/ports.ts'
import type { Scope } from '../../console/layout/scope-heading.ts'

const using = z.object({
  version: z.string().describe('Empty if the include has no version.'),
  projects: z.array(z.string()),
})

const componentShape = z.object({
  type: z.string().describe('`component`, `project` (a file of another project), `template` or `remote`.'),
  name: z.string(),
  versions: z.array(using).describe('Versions in use, the most used first.'),
  newest: z.string().optional().describe('The highest semantic version that a project uses.'),
  behind: z.array(z.string()).describe('Projects with a lower semantic version than the newest.'),
})
export type Component = Shaped<typeof componentShape>

export const componentsShape = z.object({
  project: z.string().optional(),
  components: z.array(componentShape).describe('Components with the most projects behind first, then the most used.'),
  projects: z.number().describe('Projects whose includes are known.'),
  oldest: millis.optional().describe('Time of the oldest response that these figures are computed from.'),
})
export type Components = Shaped<typeof componentsShape>

export async function componentsOf(
  { repositories }: Pick<PagesSources, 'repositories'>,
  { project }: Pick<Scope, 'project'>,
): Promise<Components> {
  const readings = (await repositories.gaugeReadings.all()).filter(
    one => one.kind === 'includes' && isInScope(one.project?.path ?? '', project),
  )
  const found = readings.flatMap(reading =>
    reading.points.map(({ attributes }) => ({
      type: String(attributes['platform.cicd.include.type'] ?? ''),
      name: String(attributes['platform.cicd.include.name'] ?? ''),
      version: String(attributes['platform.cicd.include.version'] ?? ''),
      path: reading.project?.path ?? reading.of,
    })),
  )
  const components = [...Map.groupBy(found, ({ type, name }) => JSON.stringify([type, name])).values()].map(componentOf)
  const times = readings.map(({ at }) => at)
  return {
    project,
    components: components.sort(
      (a, b) => b.behind.length - a.behind.length || usersOf(b) - usersOf(a) || (a.name < b.name ? -1 : 1),
    ),
    projects: readings.length,
    oldest: times.length === 0 ? undefined : Math.min(...times),
  }
}

export function usersOf({ versions }: Component): number {
  return new Set(versions.flatMap(({ projects }) => projects)).size
}

interface Use {
  readonly type: string
  readonly name: string
  readonly version: string
  readonly path: string
}

function componentOf(uses: readonly Use[]): Component {
  const [{ type, name } = { type: '', name: '' }] = uses
  const versions = [...Map.groupBy(uses, ({ version }) => version)]
    .map(([version, some]) => ({ version, projects: [...new Set(some.map(({ path }) => path))].sort() }))
    .sort((a, b) => b.projects.length - a.projects.length || (a.version < b.version ? -1 : 1))
  const { newest, isLower } = newestOf(versions.map(({ version }) => version))
  const behind = versions.filter(({ version }) => isLower(version)).flatMap(({ projects }) => projects)
  return { type, name, versions, newest, behind: [...new Set(behind)].sort() }
}

// Orders the versions of CI components: semantic versions, including shortened ones (`2`, `v2.1`). Branches, revisions and `~latest` have no order.
// Pure.

/**
 * Finds the newest of several versions. `newest` is undefined if none of them is a semantic version. `isLower` returns whether a version is certainly
 * below the newest.
 */
export function newestOf(versions: readonly string[]): {
  readonly newest: string | undefined
  readonly isLower: (version: string) => boolean
} {
  const known = versions.flatMap(version => {
    const parts = partsOf(version)
    return parts === undefined ? [] : [{ version, parts }]
  })
  const [newest] = known.toSorted((a, b) => compare(b.parts, a.parts))
  return {
    newest: newest?.version,
    isLower: version => {
      const parts = partsOf(version)
      return (
        newest !== undefined &&
        parts !== undefined &&
        compare(parts, newest.parts) < 0 &&
        !includesNewest(parts, newest.parts)
      )
    },
  }
}

interface Parts {
  readonly numbers: readonly number[]
  /** The suffix of a pre-release, such as a release candidate. A pre-release is below its release. */
  readonly before: string
}

/**
 * Returns the parts of a version, or undefined if the string is not a version. A revision may consist of digits only, but it is longer than any
 * number in a version.
 */
function partsOf(version: string): Parts | undefined {
  const pattern = /^v?(\d{1,9}(?:\.\d{1,9}){0,2})(?:-([\da-z.-]+))?(?:\+[\da-z.-]+)?$/i
  const [, numbers, before = ''] = pattern.exec(version) ?? []
  return numbers === undefined ? undefined : { numbers: numbers.split('.').map(Number), before }
}

function compare(a: Parts, b: Parts): number {
  for (let at = 0; at < 3; at += 1) {
    const difference = (a.numbers[at] ?? 0) - (b.numbers[at] ?? 0)
    if (difference !== 0) return difference
  }
  if (a.before === b.before) return 0
  if (a.before === '' || b.before === '') return a.before === '' ? 1 : -1
  return a.before < b.before ? -1 : 1
}

/** Whether a shortened version includes the newest version. For example `2` means the newest version 2, so it is not below `2.3.1`. */
function includesNewest(short: Parts, newest: Parts): boolean {
  return short.before === '' && short.numbers.every((number, at) => number === newest.numbers[at])
}
