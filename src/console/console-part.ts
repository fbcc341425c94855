// The parts that a feature adds to the console: pages, routes of the JSON API, and links. Pages of the core have the same form.
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
  /** Returns the links and kinds of events that are shown only if an admin token is set. It is called at each request. */
  readonly secret?: () => Secret | undefined
  readonly timeline?: TimelinePart
  /** The parts that the feature adds to slots of other pages. */
  readonly fills?: readonly Filling[]
  /**
   * Returns the pages of the feature. It is called once for each view, and its result is used for many requests. `parts` are the view's sources,
   * limited to what the view may show.
   */
  readonly pages?: (parts: PagesParts, settings: PagesSettings) => readonly Address[]
  readonly routes?: (parts: PagesParts, settings: ApiSettings) => readonly ApiRoute[]
  /** The feature's tools for programs with a language model. */
  readonly tools?: readonly Tool[]
  /** Adds routes for programs, behind the guard and the limits of the JSON API. */
  readonly programs?: (app: FastifyInstance, asked: AskedApi) => void
}

/**
 * The JSON API as routes for programs use it. `routesOf` returns the routes for what a request may see, and the same list for the same view. `tools`
 * are the tools of all features.
 */
export interface AskedApi {
  readonly routesOf: (request: FastifyRequest) => readonly ApiRoute[]
  readonly tools: readonly Tool[]
}

/** The parts of the console that need an admin token. `timeline` contains kinds of events. */
interface Secret {
  readonly links: readonly NavigationLink[]
  readonly timeline: readonly ShownKind[]
}

/** The settings that answers of the JSON API depend on. */
export type ApiSettings = Pick<
  PagesSettings,
  'adminToken' | 'secretKinds' | 'traceLink' | 'costUnit' | 'hasPrices' | 'groupBy'
>

export interface Address {
  /** The path of the page in fastify's syntax, such as `/pipelines/:projectId/:pipelineId`. */
  readonly path: string
  /** Renders the page. If it returns undefined, the answer is "not found". */
  readonly page: Render<never>
}

/** Renders a page. `asked` contains the ids in the path, and the platform that they belong to if there are several. */
type Render<Asked> = (context: RequestContext, asked: Asked) => Promise<Page | undefined>

/** Declares a page at a path. */
export function at<Path extends string>(
  path: Path,
  page: Render<Ids<Path> & { readonly instance: string | undefined }>,
): Address {
  return { path, page }
}

/** Declares a page that can be filtered by the operator's attribute. Its parts are limited to the projects that have the value. */
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
