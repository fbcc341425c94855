// The pages' sources within some projects: lists and sums of all others are left out. The store selects them, so that lists are as long as asked for.
import { isInScope, type ProjectScope } from '../../core/store/ports/project-scope.ts'
import type { PagesParts } from '../ports.ts'

interface OfProject {
  readonly project?: ProjectScope | undefined
}

/** `projects`: full paths. What names no project, such as the list of known projects, stays as it is. */
export function withinProjects(parts: PagesParts, projects: ReadonlySet<string>): PagesParts {
  const { views, runs, tests, repositories } = parts
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
    tests: {
      figures: async (question, of) => tests.figures(question, inProject(of)),
      flakyTime: async of => tests.flakyTime(inProject(of)),
      flakyDays: async of => tests.flakyDays(inProject(of)),
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
