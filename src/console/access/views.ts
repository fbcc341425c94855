// The views: what an admitted request may see, which is either all projects or only those that a person is limited to. Every view has the same pages,
// routes and tools, but its own data sources.
import { apiRoutes } from '../api/api.ts'
import { createOwnValues } from './own-values.ts'
import { noUsuals, usualsSlot } from '../pipelines/usual.ts'
import { siteOf } from '../site.ts'
import type { Address, ConsolePart } from '../console-part.ts'
import type { Admitted } from './access.ts'
import type { ApiRoute } from '../api/api-route.ts'
import type { HourWatch } from '../overview/last-hour.ts'
import type { PagesParts, PagesSettings, PagesSources } from '../ports.ts'
import type { ProjectChoice } from './person.ts'

export interface View {
  readonly parts: PagesParts
  readonly site: readonly Address[]
  readonly routes: readonly ApiRoute[]
  /** Whether the view shows all projects rather than only some of them. */
  readonly isWhole: boolean
}

export type ViewOf = (admission: Admitted) => View

/**
 * Creates the views. `sourcesOf` returns the data sources for the projects that a person is limited to or, if no limit is passed, for all projects
 * that are not hidden.
 */
export function createViews(
  sourcesOf: (choice: ProjectChoice | undefined) => PagesSources,
  settings: PagesSettings,
  hour: HourWatch,
  features: readonly ConsolePart[],
): { readonly whole: View; readonly of: ViewOf } {
  const fillings = features.flatMap(one => one.fills ?? [])
  const whole = viewOf(sourcesOf(undefined))
  const bound = new Map<ProjectChoice, View>()
  return {
    whole,
    of: admission => {
      const projects = admission.by === 'proxy' ? admission.person.entry.projects : undefined
      if (projects === undefined) return whole
      const known = bound.get(projects) ?? viewOf(sourcesOf(projects))
      bound.set(projects, known)
      return known
    },
  }

  function viewOf(shown: PagesSources): View {
    const parts: PagesParts = {
      ...shown,
      hour,
      timeline: features.flatMap(one => one.timeline ?? []),
      fillings,
      clock: instance => shown.now() + (shown.clockOffset(instance) ?? 0),
      usuals: usualsSlot.of({ fillings })[0]?.(shown, shown.now) ?? noUsuals,
      ownValues: createOwnValues(shown, settings.groupBy),
    }
    return {
      ...{ parts, isWhole: shown.bounds !== 'own' },
      site: siteOf(parts, settings, features),
      routes: apiRoutes(parts, settings, features),
    }
  }
}
