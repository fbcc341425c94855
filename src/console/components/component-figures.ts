// Which CI components, templates and files projects include, at which version, and who is behind: from what the inventory found last.
import { z } from 'zod'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import { newestOf } from './version-order.ts'
import type { PagesSources } from '../ports.ts'
import type { Scope } from '../layout/scope-heading.ts'

const using = z.object({ version: z.string().describe('Empty if it has none.'), projects: z.array(z.string()) })

const componentShape = z.object({
  type: z.string().describe('`component`, `project` (a file of another project), `template` or `remote`.'),
  name: z.string(),
  versions: z.array(using).describe('The most used first.'),
  newest: z.string().optional().describe('The highest semantic version that a project uses.'),
  behind: z.array(z.string()).describe('Projects with a lower semantic version than the newest.'),
})
export type Component = Shaped<typeof componentShape>

export const componentsShape = z.object({
  project: z.string().optional(),
  components: z.array(componentShape).describe('Those with the most projects behind first, then the most used.'),
  projects: z.number().describe('Projects whose includes are known.'),
  oldest: millis.optional().describe('When the platform gave the oldest of these answers.'),
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
