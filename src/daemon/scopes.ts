// Defines who may see which projects. Nobody sees hidden projects (PIPESPAN_PAGES_HIDE). People whose entry lists projects see only those.
import { everything, type Scope } from '../core/store/ports/scope.ts'
import { normalizeInstance } from '../model/instance.ts'
import { platformNames } from './connections.ts'
import { platformViews } from './configuration/platforms.ts'
import { projectChooser } from '../lib/chooser.ts'
import type { Config } from './configuration/options.ts'
import type { ProfileName } from './profile.ts'
import type { ProjectChoice } from '../console/access/person.ts'

/**
 * Returns a person's scope. `choice` is the selection of projects in the person's entry; undefined if the entry does not limit them. The same choice
 * always yields the same scope object.
 */
export type ScopeOf = (choice: ProjectChoice | undefined) => Scope

export function scopesOf(config: Config<ProfileName>): ScopeOf {
  const platformOf = platformNames(config)
  const hidden = config.pages.hide ?? []
  const isNotHidden = projectChooser({ exclude: hidden }, platformOf)
  const instances = platformViews(config).map(view => normalizeInstance(view.config.platform.url) ?? '')
  const isShown = (path: string, instance: string): boolean =>
    (instance === '' ? instances : [instance]).every(one => isNotHidden(path, one))
  const whole: Scope =
    hidden.length === 0 ? everything : { bounds: 'hidden', sees: ({ path, instance }) => isShown(path, instance) }
  const own = new WeakMap<ProjectChoice, Scope>()
  return choice => {
    if (choice === undefined) return whole
    const known = own.get(choice) ?? scopeOf(choice)
    own.set(choice, known)
    return known
  }

  function scopeOf(choice: ProjectChoice): Scope {
    const isChosen = projectChooser(choice, platformOf)
    return { bounds: 'own', sees: ({ path, instance }) => isChosen(path, instance) && isShown(path, instance) }
  }
}
