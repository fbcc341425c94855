// How many connections the listeners may hold, out of the files that the system lets this process open: the store, its write-ahead log
// and the connections to backends need some too, and what they cannot open is worse than a connection that waits.
import { readFileSync } from 'node:fs'
import { defaultLimits } from './listener.ts'

export interface ConnectionLimits {
  readonly public: number
  readonly admin: number
}

/** Files that are not connections to a listener. */
const reserve = 256

/** Of what is left, three quarters are for webhooks. `openFiles`: undefined where nobody knows a limit. */
export function connectionLimits(openFiles: number | undefined): ConnectionLimits {
  const most = defaultLimits.connections
  if (openFiles === undefined) return { public: most, admin: most }
  const left = openFiles - Math.min(reserve, Math.ceil(openFiles / 2))
  const admin = Math.max(1, Math.floor(left / 4))
  return { public: Math.max(1, Math.min(most, left - admin)), admin: Math.min(most, admin) }
}

/** The soft limit of open files, which Node has raised to the hard one by now; undefined where the system does not say. */
export function openFilesLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return found === undefined ? undefined : Number(found)
  } catch {
    return undefined
  }
}
