// Lists the commits of a range. On the simulated platform a branch has one commit for each of its pipelines.
import { committedAt, type PlatformState } from './state.ts'
import type { SimProject } from './world.ts'

/** `range`: `from..to`; each a full or short revision, `to` may be a branch. Undefined if the project has no revision `from`. */
export function restCommits(state: PlatformState, project: SimProject, range: string): object[] | undefined {
  const [from = '', to = ''] = range.split('..')
  const own = [...state.pipelines.values()].filter(one => one.project.id === project.id)
  const commits = new Map(own.map(one => [one.sha, { sha: one.sha, ref: one.ref, at: committedAt(one) }]))
  const found = (name: string) => [...commits.values()].find(({ sha }) => name !== '' && sha.startsWith(name))
  const first = found(from)
  const last = found(to)
  if (first === undefined) return undefined
  return [...commits.values()]
    .filter(one => one.at > first.at && (last === undefined ? one.ref === to : one.at <= last.at))
    .sort((a, b) => b.at - a.at)
    .map(({ sha, at }) => {
      const date = new Date(at).toISOString()
      return { id: sha, short_id: sha.slice(0, 8), authored_date: date, committed_date: date }
    })
}
