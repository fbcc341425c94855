// Remembers the new paths of projects and groups that have moved, from 301 and 308 answers, until a new path fails.
import { remember } from '../../lib/bounded-map.ts'

/** Maximum number of moves that are remembered. The oldest is forgotten first. */
const capacity = 10_000

export interface Moves {
  /** The current path for a path that may have moved. Both are whole paths of a URL, without the query. */
  current(path: string): string
  remember(from: string, to: string): void
  /** Forgets the move of this path. Answers false if none is remembered. */
  forget(path: string): boolean
}

export function createMoves(): Moves {
  const moved = new Map<string, string>()
  return {
    current: path => {
      const found = entryFor(moved, path)
      return found === undefined ? path : found.to + path.slice(found.from.length)
    },
    remember: (from, to) => {
      const [oldHome, newHome] = homesOf(from, to)
      if (oldHome === newHome) return
      remember(moved, oldHome, newHome, capacity)
    },
    forget: path => {
      const found = entryFor(moved, path)
      return found !== undefined && moved.delete(found.from)
    },
  }
}

/** Matches up to `/projects/:id` or `/groups/:id`. All paths below it move together. */
const home = /^.*?\/api\/v4\/(?:projects|groups)\/[^/]+/

/** The paths to remember. If both paths are equal below the project or group, all of it has moved; otherwise only this path has. */
function homesOf(from: string, to: string): [string, string] {
  const oldHome = home.exec(from)?.[0]
  const newHome = home.exec(to)?.[0]
  const isWhole =
    oldHome !== undefined && newHome !== undefined && from.slice(oldHome.length) === to.slice(newHome.length)
  return isWhole ? [oldHome, newHome] : [from, to]
}

function entryFor(moved: ReadonlyMap<string, string>, path: string): { from: string; to: string } | undefined {
  const exact = moved.get(path)
  if (exact !== undefined) return { from: path, to: exact }
  const from = home.exec(path)?.[0]
  const to = from === undefined ? undefined : moved.get(from)
  return from === undefined || to === undefined ? undefined : { from, to }
}

export function withPath(url: URL, path: string): URL {
  const moved = new URL(url)
  moved.pathname = path
  return moved
}
