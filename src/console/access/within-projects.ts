// The pages' sources within some projects: lists and sums of all others are left out. The store selects them, so that lists are as long as asked for.
import { isInScope, type ProjectScope } from '../../core/store/ports/project-scope.ts'
import type { PagesParts } from '../ports.ts'
import type { TrendReads } from '../../core/store/ports/trends.ts'

interface OfProject {
  readonly project?: ProjectScope | undefined
}

/** `projects`: full paths. What names no project, such as the list of known projects, stays as it is. */
export function withinProjects(parts: PagesParts, projects: ReadonlySet<string>): PagesParts {
  const { views, runs, tests, repositories } = parts
  const { trends, costs } = views
  const scopeOf = (asked: ProjectScope | undefined): ReadonlySet<string> =>
    asked === undefined ? projects : new Set([...projects].filter(path => isInScope(path, asked)))
  const inProject = <Of extends OfProject>(of: Of) => ({ ...of, project: scopeOf(of.project) })
  const inGroup = <Of extends { readonly group?: ProjectScope | undefined }>(of: Of) => ({
    ...of,
    group: scopeOf(of.group),
  })
  const has = (path: string | undefined): boolean => path !== undefined && projects.has(path)

  const within = (reads: TrendReads): TrendReads => ({
    series: async (subject, query) => reads.series(subject, inGroup(query)),
    projects: async (by, query, limit) => reads.projects(by, inGroup(query), limit),
    jobs: async (by, query, limit) => reads.jobs(by, inGroup(query), limit),
    ofJobs: async (subject, jobs, query) => reads.ofJobs(subject, jobs, inGroup(query)),
  })
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
      costs: {
        lines: async (by, query, limit) => costs.lines(by, inGroup(query), limit),
        retained: async query => costs.retained(inGroup(query)),
      },
      trends: {
        ...trends,
        ...within(trends),
        places: async (query, limit) => trends.places(inGroup(query), limit),
        names: async (query, limit) => trends.names(inGroup(query), limit),
        retained: async query => trends.retained(inGroup(query)),
      },
    },
  }
}
