// Remembers where projects and groups have moved to, from 301 and 308 answers, until it proves wrong.
import { remember } from '../../lib/bounded-map.ts'

/** Most addresses that are remembered; the oldest is forgotten first. */
const capacity = 10_000

export interface Moves {
  /** The current path for a path. Both are whole paths of a URL, without the query. */
  current(path: string): string
  remember(from: string, to: string): void
  /** Forgets what is remembered for this path; false when nothing was. */
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

/** `/projects/:id` or `/groups/:id`, below which everything moves together. */
const home = /^.*?\/api\/v4\/(?:projects|groups)\/[^/]+/

/** If both paths are equal below the project or group, then all of it has moved; otherwise only this path. */
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
