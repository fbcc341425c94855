// A flood as a test holds it: begun, asked for its figures, ended.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type { FloodNews, FloodOrder } from './flood.ts'

export type FloodFigures = Extract<FloodNews, { news: 'figures' }>

export interface Flood {
  figures(): Promise<FloodFigures>
  /** All its connections are gone when this resolves, as far as the strangers are concerned. */
  end(): Promise<void>
}

/** Resolves when all its connections were open once. */
export async function flood(order: FloodOrder): Promise<Flood> {
  const child = fork(path.join(import.meta.dirname, 'flood.ts'), { execArgv: [] })
  const ended = once(child, 'exit')
  const next = async <T extends FloodNews['news']>(news: T): Promise<Extract<FloodNews, { news: T }>> => {
    for (;;) {
      const [message] = (await Promise.race([
        once(child, 'message'),
        ended.then(() => Promise.reject(new Error('the flood ended by itself'))),
      ])) as [FloodNews]
      if (message.news === news) return message as Extract<FloodNews, { news: T }>
    }
  }
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const holding = next('holding')
  child.send(order)
  await holding
  return {
    figures: () => {
      const answer = next('figures')
      child.send('figures')
      return answer
    },
    end: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
