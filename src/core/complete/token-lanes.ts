// The lanes of a queue of leased items by the tokens of platforms, so that a token that is refused, or whose budget is used up, stops only its own
// items. Items that no token is for have a lane, too: they are given up.
import { createRests, type LeasedLane, type Lanes } from './leased-work.ts'
import { isWithin, type Territory } from '../../model/territory.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Which } from '../store/ports/enrichment-queue.ts'

export interface TokenLane<Token> extends LeasedLane {
  /** Undefined: no token. */
  readonly token: Token | undefined
}

export interface TokenLanes<Item, Token> extends Lanes<Item, TokenLane<Token>> {
  /** Leases what may be leased while these lanes are closed: nothing if all tokens are. */
  take<T>(
    closed: readonly TokenLane<Token>[],
    lease: (which: Which | undefined) => Promise<readonly T[]>,
  ): Promise<readonly T[]>
}

/** `placeOf`: the instance and the full path of an item's project. */
export function tokenLanes<Item, Token extends { readonly territory: Territory }>(
  tokens: readonly Token[],
  placeOf: (item: Item) => { readonly instance: string; readonly path?: string | undefined },
  clock: Clock,
): TokenLanes<Item, Token> {
  const lanes = tokens.map(token => ({ token, rests: createRests(clock) }))
  const others: TokenLane<Token> = { token: undefined, rests: createRests(clock) }
  return {
    all: [...lanes, others],
    of: item => {
      const { instance, path } = placeOf(item)
      return lanes.find(({ token }) => isWithin(token.territory, instance, path)) ?? others
    },
    take: async (closed, lease) => {
      if (closed.length === 0) return lease(undefined)
      const open = lanes.filter(lane => !closed.includes(lane))
      if (open.length === 0) return []
      if (closed.includes(others)) return lease({ only: open.map(({ token }) => token.territory) })
      return lease({ except: closed.flatMap(({ token }) => token?.territory ?? []) })
    },
  }
}
