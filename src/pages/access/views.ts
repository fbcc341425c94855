// What each admitted request may see: everything, or for people who are bound to some projects, only these. A view has the same pages, routes and
// tools over its own sources.
import { apiRoutes } from '../api/api.ts'
import { chooser } from '../../lib/chooser.ts'
import { createOwnValues } from './own-values.ts'
import { createFixFirst } from '../overview/fix-first-view.ts'
import { createPlatformClocks } from '../pipelines/platform-clock.ts'
import { createRunnersView } from '../runners/runners-view.ts'
import { createUsuals } from '../pipelines/usual.ts'
import { siteOf, type Address } from '../site.ts'
import { withoutHidden } from './hidden.ts'
import type { Admitted } from './access.ts'
import type { ApiRoute } from '../api/api-route.ts'
import type { HourWatch } from '../overview/last-hour.ts'
import type { PagesParts, PagesSettings, PagesSources } from '../ports.ts'
import type { ProjectChoice } from './person.ts'

export interface View {
  readonly parts: PagesParts
  readonly site: readonly Address[]
  readonly routes: readonly ApiRoute[]
  /** False: only some projects. */
  readonly isWhole: boolean
}

export type ViewOf = (admission: Admitted) => View

export function createViews(
  all: PagesSources,
  settings: PagesSettings,
  hour: HourWatch,
): { readonly whole: View; readonly of: ViewOf } {
  const { isHidden } = settings
  const whole = viewOf(isHidden === undefined ? all : withoutHidden(all, { isHidden }), true)
  const bound = new Map<ProjectChoice, View>()
  return {
    whole,
    of: admission => {
      const projects = admission.by === 'proxy' ? admission.person.entry.projects : undefined
      if (projects === undefined) return whole
      const known = bound.get(projects) ?? boundView(projects)
      bound.set(projects, known)
      return known
    },
  }

  function boundView({ include, exclude }: ProjectChoice): View {
    const chosen = chooser({ include, exclude })
    const isOther = (path: string): boolean => !chosen(path) || isHidden?.(path) === true
    // Texts are full of paths that name no project. Only those of known projects are removed.
    const known = knownPaths(all)
    return viewOf(
      withoutHidden(all, { isHidden: isOther, isNamed: path => known.has(path) && isOther(path), isBound: true }),
      false,
    )
  }

  function viewOf(shown: PagesSources, isWhole: boolean): View {
    const runners = createRunnersView(shown)
    const parts: PagesParts = {
      ...shown,
      hour,
      clocks: createPlatformClocks(shown.views, all.clockOffset, all.now),
      usuals: createUsuals(() => shown.views.trends, all.now),
      runners,
      ownValues: createOwnValues(shown, settings.groupBy),
      fixFirst: createFixFirst({ ...shown, runners }, settings),
    }
    return { parts, site: siteOf(parts, settings), routes: apiRoutes(parts, settings), isWhole }
  }
}

/** How often the paths of projects are read again, ms. */
const everyMs = 60_000
const maxProjects = 50_000

/** The paths of all projects that have pipelines. */
function knownPaths({ views, now, log }: Pick<PagesSources, 'views' | 'now' | 'log'>): {
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
