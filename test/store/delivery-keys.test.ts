// Keys of deliveries on SQLite: each is known for a week, by the ingress and by others, and forgotten when it is to be.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ingressKeys, sqliteDeliveryKeys } from '../../src/store/sqlite/delivery-keys.ts'
import { keyMemory } from '../../src/store/ports/inbox.ts'
import { openOwnDatabase } from '../../src/store/sqlite/database.ts'
import { runs } from '../full.ts'
import { t0 } from '../flow/world.ts'

const day = 24 * 3_600_000
const name = fc.constantFrom(...Array.from({ length: 12 }, (_, number) => `key ${number}`))
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constantFrom('accept' as const, 'process' as const), name }) },
  fc.record({ does: fc.constantFrom('remember' as const, 'forget' as const), name }),
  fc.record({ does: fc.constantFrom('wait a millisecond', 'wait half a week', 'wait more than a week'), name }),
)
const waits: Readonly<Record<string, number>> = {
  'wait a millisecond': 1,
  'wait half a week': keyMemory / 2,
  'wait more than a week': keyMemory + day + 1,
}

describe('the key of a delivery', () => {
  it('is known for a week in every state of the delivery, and then forgotten', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 80 }), steps => {
        let now = t0
        const db = openOwnDatabase(':memory:', { now: () => now })
        const keys = sqliteDeliveryKeys(db)
        const ingress = ingressKeys(db, [])
        const seen = new Map<string, number>()
        let [seq, processed] = [0, 0]
        const accepted: string[] = []
        /** Undefined for a day after the week, where a key may be either. */
        const isKnown = (one: string): boolean | undefined => {
          const age = now - (seen.get(one) ?? -Infinity)
          return age <= keyMemory ? true : age > keyMemory + day ? false : undefined
        }
        const processAll = (): void => {
          for (; processed < seq; processed += 1) keys.add(accepted[processed] ?? '', now)
          ingress.forgetProcessed(processed)
        }
        for (const { does, name: one } of steps) {
          db.transaction(() => {
            if (does === 'accept' && !ingress.isKnown(one, now)) {
              ingress.accept(one, ++seq, now)
              accepted.push(one)
              seen.set(one, now)
            } else if (does === 'process') processAll()
            else if (does === 'remember') {
              processAll()
              const isNew = keys.remember(one, now)
              expect(isNew).toBe(!(isKnown(one) ?? !isNew))
              if (isNew) seen.set(one, now)
            } else if (does === 'forget') {
              processAll()
              keys.forget(one)
              seen.delete(one)
            } else if (waits[does] !== undefined) {
              processAll()
              now += waits[does]
            }
          })
          for (const known of seen.keys()) {
            const expected = isKnown(known)
            if (expected !== undefined) expect(ingress.isKnown(known, now)).toBe(expected)
          }
        }
        db.close()
      }),
      runs(100),
    )
  })
})
