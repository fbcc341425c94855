// The platforms and their tokens, each as a configuration of its own: as if this token of this platform were the only one. So nothing else knows that
// there may be several.
import type { Config } from './options.ts'

export interface PlatformView<P extends string = string> {
  /** `default` for the platform of `platform`. */
  readonly platform: string
  /** Unique; the name of the platform, or for a token for groups also the first group. */
  readonly name: string
  /** The groups whose projects the token is for; empty: all projects that no other token of the platform is for. */
  readonly groups: readonly string[]
  readonly config: Config<P>
}

export const defaultPlatform = 'default'

export function platformViews<P extends string>(config: Config<P>): PlatformView<P>[] {
  return [{ platform: defaultPlatform, name: defaultPlatform, groups: [], config }]
}
