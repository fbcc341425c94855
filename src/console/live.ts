// Live pages: each open page is rendered every second, and sent if it has changed (server-sent events, HTML standard 9.2). Each is rendered in a
// turn of its own, and nobody takes the updates from all others by opening many pages.
import type { ServerResponse } from 'node:http'
import { reasonOf } from '../lib/fault.ts'
import { createFairPlaces } from '../lib/busy-limit.ts'
import { every, type Timer } from '../lib/timer.ts'
import type { Log } from '../lib/log.ts'
import type { Turns } from '../lib/turns.ts'

/** How many pages may be open at once, of all and of one person. */
export const livePlaces = { max: 64, maxEach: 16 } as const
const roundEvery = 1_000
/** A comment is sent after this silence, ms, because proxies close idle connections. */
const sayAliveAfter = 15_000

export interface Live {
  /** False if too many are open, of all or of `holder`. `render`: the current content; undefined ends the connection. */
  follow(response: ServerResponse, holder: string, address: string, render: () => Promise<string | undefined>): boolean
  /** Ends all connections. */
  close(): void
}

interface Follower {
  readonly response: ServerResponse
  readonly address: string
  readonly render: () => Promise<string | undefined>
  last: string | undefined
  saidAt: number
}

export function createLive(log: Log, turns: Turns): Live {
  const followers = createFairPlaces<Follower>(livePlaces)
  let timer: Timer | undefined

  async function round(): Promise<void> {
    // A page that several have open is rendered once.
    for (const [, same] of Map.groupBy(followers.items(), follower => follower.address)) {
      await turns.next()
      const content = await same[0]?.render()
      for (const follower of same) {
        if (content === undefined) drop(follower)
        else send(follower, content)
      }
    }
  }

  function failed(error: unknown): void {
    log.warn({ reason: reasonOf(error) }, 'open pages could not be updated')
  }

  function send(follower: Follower, content: string): void {
    const { response, last } = follower
    // A slow reader skips this update.
    if (response.writableNeedDrain) return
    if (content !== last) {
      follower.last = content
      follower.saidAt = performance.now()
      response.write(
        `event: page\n${content
          .split('\n')
          .map(line => `data: ${line}\n`)
          .join('')}\n`,
      )
    } else if (performance.now() - follower.saidAt > sayAliveAfter) {
      follower.saidAt = performance.now()
      response.write(': still here\n\n')
    }
  }

  function drop(follower: Follower): void {
    followers.release(follower)
    follower.response.end()
    if (followers.items().length === 0) stop()
  }

  function stop(): void {
    timer?.stop()
    timer = undefined
  }

  return {
    follow: (response, holder, address, render) => {
      const follower: Follower = { response, address, render, last: undefined, saidAt: performance.now() }
      const place = followers.take(holder, follower)
      if (place === 'refused') return false
      if (place.instead !== undefined) drop(place.instead)
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      response.write('retry: 2000\n\n')
      response.on('close', () => drop(follower))
      timer ??= every(roundEvery, round, failed)
      return true
    },
    close: () => {
      for (const follower of followers.items()) drop(follower)
      stop()
    },
  }
}
