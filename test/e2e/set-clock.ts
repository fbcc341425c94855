// Changes the wall clock of a running process from outside: a file contains the offset in ms. The code is preloaded in each thread of the program
// (`node --import`). Monotonic clocks do not change, just as when an operator sets the clock.
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
