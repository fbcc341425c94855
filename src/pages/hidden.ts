// Projects whose names are not to be seen: left out of whatever the pages show, as if there were no such project.
import type { DeadLetter } from '../store/exports.ts'
import type { Json } from '../store/notes.ts'
import type { PagesParts } from './ports.ts'
import type { StoredRun } from '../store/runs.ts'

/** Asked for one, where all of one belong to hidden projects. */
const mostPages = 10

/** The same parts without what belongs to hidden projects. Totals over all projects stay whole: they name none. */
export function withoutHidden(parts: PagesParts, isHidden: (path: string) => boolean): PagesParts {
  const { views, runs } = parts
  const isShown = ({ run }: StoredRun): boolean => {
    const { path, name } = run.project.facts
    return !isHidden(path ?? name ?? '')
  }
  const shown = (found: readonly StoredRun[]): StoredRun[] => found.filter(isShown)
  const one = (found: StoredRun | undefined): StoredRun | undefined =>
    found !== undefined && isShown(found) ? found : undefined
  const namesHidden = (value: Json): boolean =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some(one => typeof one === 'string' && isHidden(one))
  const letterIsShown = async ({ instance, pipelineId }: DeadLetter): Promise<boolean> => {
    const found = await runs.get({ instance, pipelineId })
    return found === undefined || isShown(found)
  }
  return {
    ...parts,
    notes: {
      ...parts.notes,
      list: async prefix => {
        const documents = [...(await parts.notes.list(prefix))]
        return new Map(documents.filter(([, value]) => !namesHidden(value)))
      },
    },
    runs: { get: async key => one(await runs.get(key)) },
    exports: {
      ...parts.exports,
      deadLetters: async limit => {
        const letters = await parts.exports.deadLetters(limit)
        const flags = await Promise.all(letters.map(letterIsShown))
        return letters.filter((_, index) => flags[index])
      },
      deadLetter: async id => {
        const found = await parts.exports.deadLetter(id)
        return found !== undefined && (await letterIsShown(found.letter)) ? found : undefined
      },
    },
    views: {
      ...views,
      inStatus: async (statuses, limit) => shown(await views.inStatus(statuses, limit)),
      lastFinished: async limit => shown(await views.lastFinished(limit)),
      search: async query => {
        let page = await views.search(query)
        const runs = shown(page.runs)
        // Pages are full, whoever is left out of them.
        for (let more = 0; more < mostPages && runs.length < query.limit && page.next !== undefined; more += 1) {
          page = await views.search({ ...query, after: page.next, limit: query.limit - runs.length })
          runs.push(...shown(page.runs))
        }
        return { ...page, runs }
      },
      projects: async limit => (await views.projects(limit)).filter(path => !isHidden(path)),
      find: async (projectId, pipelineId, instance) => one(await views.find(projectId, pipelineId, instance)),
      children: async key => shown(await views.children(key)),
      trends: {
        ...views.trends,
        series: async (subject, query) =>
          (await views.trends.series(subject, query)).filter(({ project }) => project === '' || !isHidden(project)),
        projects: async (query, limit) =>
          (await views.trends.projects(query, limit)).filter(({ project }) => !isHidden(project)),
        jobs: async (by, query, limit) =>
          (await views.trends.jobs(by, query, limit)).filter(({ project }) => !isHidden(project)),
      },
    },
  }
}
