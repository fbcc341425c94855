// Detects whether the machine did other work during a measurement.
import { cpus } from 'node:os'
import { readFileSync } from 'node:fs'

/**
 * Starts observing the machine. The returned function returns the share of processor time that other processes have used since then, from 0 to 1. All
 * child processes must have ended before it is called.
 */
export function watchOthers(): () => number {
  const [began, before] = [performance.now(), othersMs()]
  return () => Math.max(0, (othersMs() - before) / ((performance.now() - began) * cpus().length))
}

/** Length of the ticks in which Linux counts processor time, ms; see proc(5). */
const tick = 10

function othersMs(): number {
  const [, user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0] = readFileSync('/proc/stat', 'latin1')
    .split('\n', 1)
    .flatMap(line => line.split(/\s+/))
    .map(Number)
  const own = readFileSync('/proc/self/stat', 'latin1')
  // Fields are counted after the process name. Fields 14 to 17 are the user and system time of this process and of its terminated child processes.
  const mine = own
    .slice(own.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return (user + nice + system + interrupts + soft - mine.reduce((sum, one) => sum + one, 0)) * tick
}
