// The names of queues in which a backlog is held: what was pending for a destination when its endpoint changed. Pure.

/** Not in the name of any destination. */
const sign = '@'

/** `mark`: of the former endpoint. */
export function heldName(destination: string, mark: string): string {
  return destination + sign + mark
}

/** The destination whose backlog is held in this queue; undefined: it is an ordinary queue. */
export function heldFor(queue: string): string | undefined {
  const at = queue.indexOf(sign)
  return at === -1 ? undefined : queue.slice(0, at)
}
