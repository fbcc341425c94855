// The paths of all projects that have pipelines, for removing the names of projects that somebody may not see from texts. Read again once a minute.
import type { PagesSources } from '../ports.ts'

const everyMs = 60_000
const maxProjects = 50_000

export function knownPaths({ views, now, log }: Pick<PagesSources, 'views' | 'now' | 'log'>): {
  has(path: string): boolean
} {
  let paths: ReadonlySet<string> = new Set()
  let readAt = -Infinity
  function read(): void {
    readAt = now()
    views
      .projects(maxProjects)
      .then(found => (paths = new Set(found)))
      .catch((error: unknown) => log.warn({ reason: String(error) }, 'the names of projects could not be read'))
  }
  read()
  return {
    has: path => {
      if (now() - readAt > everyMs) read()
      return paths.has(path)
    },
  }
}
