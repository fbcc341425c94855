// Keys of deliveries on SQLite: whichever of the three tables a key is in, it is known for a week, and forgotten when it is to be.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ingressKeys, sqliteDeliveryKeys } from '../../src/store/sqlite/delivery-keys.ts'
import { keyMemory } from '../../src/store/ports/inbox.ts'
import { openOwnDatabase } from '../../src/store/sqlite/database.ts'
import { runs } from '../full.ts'
import { t0 } from '../flow/world.ts'

/** So small that a few keys go all the way. */
const limits = { many: 4, gathered: 6, together: 2 }
const names = Array.from({ length: 40 }, (_, number) => `key ${number}`)

type Step =
  | { readonly does: 'accept' | 'remember' | 'forget'; readonly name: string }
  | { readonly does: 'join' | 'start' }
  | { readonly does: 'wait'; readonly ms: number }

const name = fc.constantFrom(...names)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('accept' as const), name }) },
  fc.record({ does: fc.constantFrom('remember' as const, 'forget' as const), name }),
  fc.record({ does: fc.constantFrom('join' as const, 'start' as const) }),
  fc.record({ does: fc.constant('wait' as const), ms: fc.constantFrom(1, keyMemory / 2, keyMemory + 3_600_001) }),
)

describe('the key of a delivery', () => {
  it('is known for a week whichever way it has gone, and not once it is forgotten', () => {
    let joined = 0
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 80 }), steps => {
        const db = openOwnDatabase(':memory:', { now: () => t0 })
        let keys = sqliteDeliveryKeys(db, limits)
        let ingress = ingressKeys(db, [])
        const seen = new Map<string, { readonly at: number; readonly seq: number | undefined }>()
        let [now, seq] = [t0, 0]
        /** Undefined for an hour after the week, where a key may be either. */
        const isKnown = (one: string): boolean | undefined => {
          const age = now - (seen.get(one)?.at ?? -Infinity)
          return age <= keyMemory ? true : age > keyMemory + 3_600_000 ? false : undefined
        }
        const rows = (table: string): number => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n)
        for (const one of steps) {
          db.transaction(() => {
            if (one.does === 'accept') {
              if (ingress.isKnown(one.name, now)) return
              seq += 1
              ingress.accept(one.name, seq, now)
              keys.add(seq, one.name, now)
              seen.set(one.name, { at: now, seq })
            } else if (one.does === 'remember') {
              const isNew = keys.remember(one.name, now)
              expect(isNew).toBe(!(isKnown(one.name) ?? !isNew))
              if (isNew) seen.set(one.name, { at: now, seq: undefined })
            } else if (one.does === 'forget') {
              keys.forget(one.name, seen.get(one.name)?.seq)
              seen.delete(one.name)
            } else if (one.does === 'join') keys.joinAll(now)
            else if (one.does === 'wait') now += one.ms
            keys.joinSome(now)
          })
          if (one.does === 'start') {
            keys = sqliteDeliveryKeys(db, limits)
            ingress = ingressKeys(db, [])
          }
          ingress.forgetJoined(seq)
          for (const known of names) {
            const answer = ingress.isKnown(known, now)
            expect(answer).toBe(isKnown(known) ?? answer)
          }
          if (one.does === 'join')
            expect([rows('recent_delivery_keys'), rows('gathered_delivery_keys')]).toEqual([0, 0])
          expect(rows('recent_delivery_keys')).toBeLessThan(limits.many)
          expect(rows('gathered_delivery_keys')).toBeLessThanOrEqual(limits.gathered + limits.many)
        }
        joined += rows('delivery_keys')
        db.close()
      }),
      runs(1_500),
    )
    expect(joined).toBeGreaterThan(20)
  })
})
