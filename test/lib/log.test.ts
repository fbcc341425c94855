// Tests the log when nothing can be written to it: on a full disk, or to a pipe that nobody reads.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const log = path.join(import.meta.dirname, '..', '..', 'src', 'lib', 'log.ts')

it.skipIf(!existsSync('/dev/full')).each(['json', 'pretty'])(
  'continues to write the log as %s after the disk was full',
  format => {
    const program = `
    import { createLog } from ${JSON.stringify(log)}
    const log = createLog({ level: 'info', format: ${JSON.stringify(format)} })
    for (let line = 0; line < 3; line += 1) setImmediate(() => log.warn({ line }, 'reported'))
    setTimeout(() => process.stdout.write('alive'), 50)`
    const full = openSync('/dev/full', 'w')
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', full],
      encoding: 'utf8',
    })
    closeSync(full)
    expect({ stdout, status }).toEqual({ stdout: 'alive', status: 0 })
  },
)
