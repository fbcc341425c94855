// What a feature adds to the console: pages, routes of the JSON API, and links. Pages of the core have the same form.
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
  /** What is shown only if an admin token is set; called at each request. */
  readonly secret?: () => Secret | undefined
  readonly timeline?: TimelinePart
  /** What the feature adds to other pages, where these have a slot. */
  readonly fills?: readonly Filling[]
  /** Called once for each view; what it returns is used for many requests. `parts`: the sources of the view, with what it may show. */
  readonly pages?: (parts: PagesParts, settings: PagesSettings) => readonly Address[]
  readonly routes?: (parts: PagesParts, settings: ApiSettings) => readonly ApiRoute[]
  /** Tools for programs with a language model. */
  readonly tools?: readonly Tool[]
  /** Adds routes for programs, behind the guard and the limits of the JSON API. */
  readonly programs?: (app: FastifyInstance, asked: AskedApi) => void
}

/** `routesOf`: the routes of the JSON API for what a request may see; the same list for the same view. `tools`: the tools of all features. */
export interface AskedApi {
  readonly routesOf: (request: FastifyRequest) => readonly ApiRoute[]
  readonly tools: readonly Tool[]
}

/** `timeline`: kinds of events on the timeline. */
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
  /** In fastify's syntax: `/pipelines/:projectId/:pipelineId`. */
  readonly path: string
  /** Undefined becomes "not found". */
  readonly page: Render<never>
}

/** `asked`: the ids in the path, and which of several platforms they belong to. */
type Render<Asked> = (context: RequestContext, asked: Asked) => Promise<Page | undefined>

/** A page at a path. */
export function at<Path extends string>(
  path: Path,
  page: Render<Ids<Path> & { readonly instance: string | undefined }>,
): Address {
  return { path, page }
}

/** A page that can be filtered by the operator's attribute: its parts are limited to the projects that have the value. */
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
