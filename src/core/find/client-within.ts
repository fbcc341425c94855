// A client that lists only what is in the territory of its token: if several tokens are for one platform, each project is polled with one of them.
import { isWithin, type Territory } from '../../model/territory.ts'
import type { Pages, PlatformClient } from '../../platform/port.ts'

/** The lists of projects, of incidents, and of the pipelines of the token's user are filtered. */
export function clientWithin(client: PlatformClient, territory: Territory): PlatformClient {
  if (territory.parts.every(({ group, except }) => group === '' && except.length === 0)) return client
  const isOwn = (path: string | undefined): boolean => isWithin(territory, client.instance, path)
  return {
    ...client,
    projects: (of, query, options) => filtered(client.projects(of, query, options), ({ path }) => isOwn(path)),
    ownPipelines: (query, options) =>
      filtered(client.ownPipelines(query, options), ({ project }) => isOwn(project.path)),
    incidents: (query, options) => filtered(client.incidents(query, options), ({ project }) => isOwn(project.path)),
  }
}

async function* filtered<T>(pages: Pages<T>, isKept: (item: T) => boolean): Pages<T> {
  for await (const page of pages) yield { ...page, items: page.items.filter(isKept) }
}
