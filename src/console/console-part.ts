// What a feature adds to the console: pages, JSON API routes, and links. The core's pages are declared in the same form.
import type { ApiRoute } from './api/api-route.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Filling } from '../lib/slot.ts'
import type { NavigationLink } from './layout/navigation.ts'
import type { Page, RequestContext } from './layout/frame.ts'
import { given, type Ids } from './layout/address.ts'
import { ofValue } from './access/own-values.ts'
import type { TimelinePart } from './timeline/timeline-part.ts'
import type { PagesParts, PagesSettings } from './ports.ts'
import type { ShownKind } from '../model/event.ts'
import type { Tool } from './api/tool.ts'

export interface ConsolePart {
  readonly links?: readonly NavigationLink[]
  /** Returns the links and event kinds that are shown only if an admin token is set. Called on each request. */
  readonly secret?: () => Secret | undefined
  readonly timeline?: TimelinePart
  /** The parts that the feature adds to slots of other pages. */
  readonly fills?: readonly Filling[]
  /**
   * Returns the feature's pages. It is called once per view, and its result is used for many requests. `parts` are the view's data sources, limited
   * to what the view may show.
   */
  readonly pages?: (parts: PagesParts, settings: PagesSettings) => readonly Address[]
  readonly routes?: (parts: PagesParts, settings: ApiSettings) => readonly ApiRoute[]
  /** The feature's tools for programs that use a language model. */
  readonly tools?: readonly Tool[]
  /** Adds routes for programs, behind the JSON API's guard and limits. */
  readonly programs?: (app: FastifyInstance, asked: AskedApi) => void
}

/**
 * The JSON API, as used by routes for programs. `routesOf` returns the routes for what a request may see. It always returns the same list for the
 * same view. `tools` are the tools of all features.
 */
export interface AskedApi {
  readonly routesOf: (request: FastifyRequest) => readonly ApiRoute[]
  readonly tools: readonly Tool[]
}

/** The parts of the console that are shown only if an admin token is set. `timeline` contains event kinds. */
interface Secret {
  readonly links: readonly NavigationLink[]
  readonly timeline: readonly ShownKind[]
}

/** The settings that JSON API responses depend on. */
export type ApiSettings = Pick<
  PagesSettings,
  'adminToken' | 'secretKinds' | 'traceLink' | 'costUnit' | 'hasPrices' | 'groupBy'
>

export interface Address {
  /** The page's path in fastify's syntax, such as `/pipelines/:projectId/:pipelineId`. */
  readonly path: string
  /** Renders the page. If it returns undefined, the response is “not found”. */
  readonly page: Render<never>
}

/** Renders a page. `asked` contains the IDs in the path and, if there are several platforms, the platform that the IDs belong to. */
type Render<Asked> = (context: RequestContext, asked: Asked) => Promise<Page | undefined>

/** Declares a page at a path. */
export function at<Path extends string>(
  path: Path,
  page: Render<Ids<Path> & { readonly instance: string | undefined }>,
): Address {
  return { path, page }
}

/**
 * Declares a page that can be filtered by the grouping attribute (PIPESPAN_PAGES_GROUP_BY). Its data sources are limited to the projects with the
 * chosen value.
 */
export function filteredAt(
  parts: PagesParts,
  path: string,
  page: (context: RequestContext, parts: PagesParts) => Promise<Page>,
): Address {
  return at(path, async context => {
    const { parts: own, filter } = await ofValue(parts, given(context.query, 'own'))
    return page({ ...context, own: filter }, own)
  })
}
