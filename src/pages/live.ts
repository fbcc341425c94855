// Live pages: each open page is rendered every second, and sent if it has changed (server-sent events, HTML standard 9.2).
import type { ServerResponse } from 'node:http'
import { reasonOf } from '../lib/fault.ts'
import { every, type Timer } from '../lib/timer.ts'
import type { Log } from '../lib/log.ts'

/** How many pages may be open at once. */
const maxFollowers = 64
const roundEvery = 1_000
/** A comment is sent after this silence, ms, because proxies close idle connections. */
const sayAliveAfter = 15_000

export interface Live {
  /** False if too many are open. `render`: the current content; undefined ends the connection. */
  follow(response: ServerResponse, address: string, render: () => Promise<string | undefined>): boolean
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

export function createLive(log: Log): Live {
  const followers = new Set<Follower>()
  let timer: Timer | undefined

  async function round(): Promise<void> {
    // A page that several have open is rendered once.
    for (const [, same] of Map.groupBy(followers, follower => follower.address)) {
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
    followers.delete(follower)
    follower.response.end()
    if (followers.size === 0) stop()
  }

  function stop(): void {
    timer?.stop()
    timer = undefined
  }

  return {
    follow: (response, address, render) => {
      if (followers.size >= maxFollowers) return false
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      response.write('retry: 2000\n\n')
      const follower: Follower = { response, address, render, last: undefined, saidAt: performance.now() }
      followers.add(follower)
      response.on('close', () => drop(follower))
      timer ??= every(roundEvery, round, failed)
      return true
    },
    close: () => {
      for (const follower of followers) drop(follower)
      stop()
    },
  }
}
