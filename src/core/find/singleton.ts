// A lease for work that only one replica may do at a time, renewed while it is used.
import { randomUUID } from 'node:crypto'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Leases } from '../store/ports/leases.ts'

export interface Singleton {
  /** True while the lease is ours; takes it or renews it as needed. Cheap enough to be asked before every step. */
  isMine(): Promise<boolean>
  release(): Promise<void>
}

/** Long enough for a slow step; short enough that another replica soon takes over after a crash, ms. */
const leaseMs = 90_000
const renewMs = 20_000

export function createSingleton(name: string, leases: Leases, clock: Clock): Singleton {
  const holder = randomUUID()
  let takenAt = -Infinity
  return {
    isMine: async () => {
      if (elapsed(clock) - takenAt < renewMs) return true
      const taken = await leases.take(name, holder, leaseMs)
      takenAt = taken ? elapsed(clock) : -Infinity
      return taken
    },
    release: async () => {
      takenAt = -Infinity
      await leases.release(name, holder)
    },
  }
}
