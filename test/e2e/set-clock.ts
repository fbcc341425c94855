// Sets the time of day of a process from outside while it runs: a file says by how many ms it is off. It is loaded before the program, in each of its
// threads (`node --import`). Clocks that measure durations do not change, as when an operator sets the clock.
import { readFileSync } from 'node:fs'

const file = process.env.CLOCK_OFF_BY ?? ''
const RealDate = Date
let off = 0

function look(): void {
  off = Number(readFileSync(file, 'utf8'))
}

look()
setInterval(look, 20).unref()

globalThis.Date = class extends RealDate {
  constructor(...args: [] | [string | number | Date]) {
    super(...((args.length === 0 ? [RealDate.now() + off] : args) as [number]))
  }

  static override now(): number {
    return RealDate.now() + off
  }
} as DateConstructor
