// Whether the machine had anything else to do while something was measured.
import { cpus } from 'node:os'
import { readFileSync } from 'node:fs'

/** Starts watching; answers how much of the processors others took since then, from 0 to 1. Our children must have ended. */
export function watchOthers(): () => number {
  const [began, before] = [performance.now(), othersMs()]
  return () => Math.max(0, (othersMs() - before) / ((performance.now() - began) * cpus().length))
}

/** Linux counts in ticks of 10 ms: see proc(5). */
const tick = 10

function othersMs(): number {
  const [, user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0] = readFileSync('/proc/stat', 'latin1')
    .split('\n', 1)
    .flatMap(line => line.split(/\s+/))
    .map(Number)
  const own = readFileSync('/proc/self/stat', 'latin1')
  // After the name: fields 14 to 17, user and system time of this process and of the children that have ended.
  const mine = own
    .slice(own.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return (user + nice + system + interrupts + soft - mine.reduce((sum, one) => sum + one, 0)) * tick
}
