// The values of the grouping attribute (PIPESPAN_PAGES_GROUP_BY), such as a team, for each known project. This file also limits the data sources of
// the pages to the projects that have a given value.
import { sharedAnswer } from '../../lib/shared-answer.ts'
import { isInScope, type ProjectScope } from '../../core/store/ports/project-scope.ts'
import { NotShown } from '../layout/not-shown.ts'
import type { OwnFilter } from '../layout/frame.ts'
import type { OwnValues, PagesParts, PagesSettings, PagesSources } from '../ports.ts'

/** The maximum number of projects to read. Their paths are parameters of one statement, and SQLite allows 32,766 parameters in a statement. */
const maxProjects = 16_000
/**
 * The time in ms for which the attribute values are cached. Open pages are updated every second, and reading 10,000 projects takes a tenth of a
 * second.
 */
const cacheMs = 10_000
const maxNamed = 20

/**
 * Reads the values of the grouping attribute (PIPESPAN_PAGES_GROUP_BY). A project has one value for all branches, so rules with `branches` are
 * ignored.
 */
export function createOwnValues(
  { views, now }: Pick<PagesSources, 'views' | 'now'>,
  groupBy: PagesSettings['groupBy'],
): () => Promise<OwnValues> {
  if (groupBy === undefined) return async () => ({ name: undefined, projects: new Map() })
  const { name, valueOf } = groupBy
  return sharedAnswer(cacheMs, now, async () => {
    // The features' projects are read as well: features retain data for longer than pipelines, so they may know projects without a stored pipeline.
    const known = await Promise.all([views.projects(maxProjects), views.latestPaths(maxProjects)])
    const paths = [...new Set(known.flat())].slice(0, maxProjects)
    const byValue = Map.groupBy(paths, path => valueOf(path, '') ?? '')
    byValue.delete('')
    const sorted = [...byValue].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    return { name, projects: new Map(sorted.map(([value, paths]) => [value, new Set(paths)])) }
  })
}

/**
 * Returns the page's data sources and its filter. The data sources are limited to the projects with this value of the grouping attribute. Without a
 * value they cover all projects, and the filter is undefined if no grouping attribute is configured.
 */
export async function ofValue(
  parts: PagesParts,
  value: string | undefined,
): Promise<{ readonly parts: PagesParts; readonly filter: OwnFilter | undefined }> {
  const { name, projects } = await parts.ownValues()
  const filter = { name, value, values: [...projects.keys()] }
  if (value === undefined) return { parts, filter: name === undefined ? undefined : { ...filter, unknown: undefined } }
  const own = projects.get(value)
  const unknown = own === undefined ? unknownText(filter) : undefined
  return { parts: withinProjects(parts, own ?? new Set()), filter: { ...filter, unknown } }
}

/** Returns the result of `read` for the projects with this value of the grouping attribute, or `NotShown` if no known project has it. */
export async function answerOf<T>(
  parts: PagesParts,
  value: string | undefined,
  read: (parts: PagesParts) => Promise<T>,
): Promise<T | NotShown> {
  const found = await ofValue(parts, value === '' ? undefined : value)
  return found.filter?.unknown === undefined ? read(found.parts) : new NotShown(found.filter.unknown)
}

function unknownText({ name, value, values }: Omit<OwnFilter, 'unknown'>): string {
  if (name === undefined)
    return 'There is no attribute to filter by. Set PIPESPAN_PAGES_GROUP_BY to one of your own attributes, or leave out the parameter “own”.'
  if (values.length === 0) return `No known project has a value of ${name}. Check the rules in attributes.rules.`
  const more = values.length > maxNamed ? ' …' : '.'
  return `No known project has the ${name} “${value}”. Choose one of: ${values.slice(0, maxNamed).join(', ')}${more}`
}

interface OfProject {
  readonly project?: ProjectScope | undefined
}

/**
 * Returns the data sources, limited to some projects: lists and sums leave out all others. The store does the filtering, so that lists have the
 * requested length. `projects` contains full paths. Reads that do not concern a project, such as the list of known projects, are not limited.
 */
function withinProjects(parts: PagesParts, projects: ReadonlySet<string>): PagesParts {
  const { views, runs, repositories } = parts
  const scopeOf = (asked: ProjectScope | undefined): ReadonlySet<string> =>
    asked === undefined ? projects : new Set([...projects].filter(path => isInScope(path, asked)))
  const inProject = <Of extends OfProject>(of: Of) => ({ ...of, project: scopeOf(of.project) })
  const has = (path: string | undefined): boolean => path !== undefined && projects.has(path)

  return {
    ...parts,
    runs: {
      get: async key => {
        const found = await runs.get(key)
        return has(found?.run.project.facts.path) ? found : undefined
      },
    },
    on: make => parts.on(make, projects),
    repositories: {
      ...repositories,
      gaugeReadings: {
        all: async () => (await repositories.gaugeReadings.all()).filter(({ project }) => has(project?.path)),
      },
      of: kind => ({
        all: async onDamaged => {
          const found = await repositories.of(kind).all(onDamaged)
          const ofProject = kind.shown?.about
          if (ofProject === undefined) return found
          return found.filter(one => {
            const { projectId, paths = [] } = ofProject(one)
            return projectId === undefined || paths.some(has)
          })
        },
      }),
    },
    views: {
      ...views,
      search: async query => views.search(inProject(query)),
      countRuns: async query => views.countRuns(inProject(query)),
      children: async key => (await views.children(key)).filter(({ run }) => has(run.project.facts.path)),
      shownEvents: async query => views.shownEvents(inProject(query)),
    },
  }
}
