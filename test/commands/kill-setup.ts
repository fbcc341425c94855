// Kills its own process with SIGKILL at the `KILL_AT`th step. There is a step before and after each move of a file to its final path, before each
// request, and after its response. It is loaded before the program (`node --import`), whose code does not refer to it.
import fs from 'node:fs/promises'
import { subscribe } from 'node:diagnostics_channel'
import { syncBuiltinESMExports } from 'node:module'
import type { PathLike } from 'node:fs'

const target = Number(process.env.KILL_AT)
let passed = 0

function pass(): void {
  if (++passed === target) process.kill(process.pid, 'SIGKILL')
}

const { rename } = fs
fs.rename = async (from: PathLike, to: PathLike) => {
  pass()
  await rename(from, to)
  pass()
}
syncBuiltinESMExports()
subscribe('undici:request:create', pass)
subscribe('undici:request:trailers', pass)
