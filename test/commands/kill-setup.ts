// Ends its own process with SIGKILL at the `KILL_AT`th moment at which something is done: before and after a file is put in its place, before a request
// is sent and after its answer. Loaded before the program (`node --import`), which knows nothing of it.
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
