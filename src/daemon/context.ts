// The context that is passed to every start step of the daemon and to every command.
import type { ByInstance } from '../model/instance.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'
import type { DaemonEvents } from './events.ts'
import type { Destination, Proxies } from '../core/send/destination.ts'
import type { Log } from '../lib/log.ts'
import type { PlatformOf } from '../lib/chooser.ts'
import type { ProfileName } from './profile.ts'
import type { Store } from '../core/store/ports/store.ts'

export interface Context {
  readonly config: Config<ProfileName>
  readonly store: Store
  readonly events: DaemonEvents
  readonly clock: Clock
  readonly log: Log
}

/** The core's configuration, and values derived from it. */
export interface Surroundings {
  readonly config: Config
  readonly destinations: readonly Destination[]
  readonly proxies: Proxies
  readonly platformOf: PlatformOf
  readonly profile: ByInstance<string>
}
