// Describes the pages and API routes that the features add to the console. There is no daemon, so the features must not read from it while they
// describe them.
import { apiRoutes } from '../../src/console/api/api.ts'
import { features } from '../../src/features.ts'
import { siteOf } from '../../src/console/site.ts'
import type { PagesParts } from '../../src/console/ports.ts'

const parts = await Promise.all(features.map(async one => one.console?.({} as never, {} as never)))

export const consoleParts = parts.filter(part => part !== undefined)

/** A stand-in for the parts of a running console. It is enough to list the pages and routes. */
export const noParts = { fillings: consoleParts.flatMap(({ fills = [] }) => fills) } as unknown as PagesParts

const settings = { adminToken: () => undefined }
/** All console pages, and all routes of the JSON API. */
export const allPages = siteOf(noParts, settings, consoleParts)
export const allRoutes = apiRoutes(noParts, settings, consoleParts)

/** The addresses of pages for all projects, which need no id or name in their path. */
export const pageAddresses = allPages.map(({ path }) => path).filter(path => !/:|confirm/.test(path))
export const answerAddresses = allRoutes
  .filter(({ method, path }) => method === 'GET' && !path.includes(':'))
  .map(({ path }) => path)
