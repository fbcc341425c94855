// What every start step of the daemon is given.
import type { Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'
import type { DaemonEvents } from './events.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from './profile.ts'
import type { Store } from '../core/store/ports/store.ts'

export interface Context {
  readonly config: Config<ProfileName>
  readonly store: Store
  readonly events: DaemonEvents
  readonly clock: Clock
  readonly log: Log
}
