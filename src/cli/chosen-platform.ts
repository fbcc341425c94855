// Which platform, and which of its tokens, a command uses.
import { Misconfigured } from './configuration.ts'
import { platformViews, type PlatformView } from '../config/platforms.ts'
import type { Config } from '../config/options.ts'

/** `name`: of `--platform`. Throws Misconfigured with all names if it must be given. */
export function chosenPlatform<P extends string>(config: Config<P>, name: string | undefined): PlatformView<P> {
  const views = platformViews(config)
  const found = name === undefined && views.length === 1 ? views[0] : views.find(view => view.name === name)
  if (found !== undefined) return found
  const names = views.map(view => view.name).join(', ')
  throw new Misconfigured(
    name === undefined
      ? 'Several platforms, or several tokens of one, are configured.'
      : `There is no platform ${name}.`,
    `Name one with --platform: ${names}.`,
  )
}
