// How many connections the listeners may have, by the limits of open files and memory. The store, its deliveries and connections
// to backends need files and memory, too: if they cannot have them, that is worse than a connection that waits.
import { readFileSync } from 'node:fs'
import { defaultLimits } from './listener.ts'

export interface ConnectionLimits {
  readonly public: number
  readonly admin: number
}

/** Files that are not connections to a listener. */
const reserve = 256

/** Bytes that the daemon itself needs. Half of the memory beyond that is for connections. */
const ownMemory = 192 * 1024 * 1024
/** Bytes of a connection whose body has not been read: the first piece of it, and Node's own objects. */
const each = 81_920

/** The minimum, with however little memory. */
const least = 128

/** Three quarters are for the webhook listener. `openFiles`, `memory` (bytes): undefined without a known limit. */
export function connectionLimits(openFiles: number | undefined, memory?: number): ConnectionLimits {
  const affordable = Math.floor(((memory ?? Infinity) - ownMemory) / 2 / each)
  const most = Math.max(least, Math.min(defaultLimits.connections, affordable))
  if (openFiles === undefined) return { public: most, admin: most }
  const left = openFiles - Math.min(reserve, Math.ceil(openFiles / 2))
  const admin = Math.max(1, Math.floor(left / 4))
  return { public: Math.max(1, Math.min(most, left - admin)), admin: Math.min(most, admin) }
}

/** The soft limit of open files, which Node raises to the hard one at its start; undefined if the system does not say. */
export function openFilesLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return found === undefined ? undefined : Number(found)
  } catch {
    return undefined
  }
}
