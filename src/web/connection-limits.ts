// How many connections the listeners may hold, out of the files and the memory that the system lets this process have: the store, its
// write-ahead log and the connections to backends need some too, and what they cannot have is worse than a connection that waits.
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { defaultLimits } from './listener.ts'

export interface ConnectionLimits {
  readonly public: number
  readonly admin: number
}

/** Files that are not connections to a listener. */
const reserve = 256

/** What the daemon needs by itself, bytes; half of what it is given beyond that is for connections. */
const ownMemory = 192 * 1024 * 1024
/** What a connection holds whose body waits to be read, bytes: the piece that came with its head, and what Node needs for it. */
const each = 81_920

/** With however little memory. */
const least = 128

/** Of what is left, three quarters are for webhooks. `openFiles`, and `memory` in bytes: undefined where nobody knows a limit. */
export function connectionLimits(openFiles: number | undefined, memory?: number): ConnectionLimits {
  const affordable = Math.floor(((memory ?? Infinity) - ownMemory) / 2 / each)
  const most = Math.max(least, Math.min(defaultLimits.connections, affordable))
  if (openFiles === undefined) return { public: most, admin: most }
  const left = openFiles - Math.min(reserve, Math.ceil(openFiles / 2))
  const admin = Math.max(1, Math.floor(left / 4))
  return { public: Math.max(1, Math.min(most, left - admin)), admin: Math.min(most, admin) }
}

/** What a container is held to, bytes; undefined where nothing is known, or where it is more than there is. */
export function memoryLimit(): number | undefined {
  const found = process.constrainedMemory()
  return found > 0 && found < totalmem() ? found : undefined
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
