// Tests rotations that cannot finish because of another rotation, a daemon or the store: their exit codes, and the tokens that stay valid.
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTokenReport } from '../../../src/features/tokens/daemon-token-report.ts'
import { createLog } from '../../../src/lib/log.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { openStore } from '../../../src/core/store/open-store.ts'
import { sendsNothing } from '../../../src/core/store/ports/outbox.ts'
import { tryLock } from '../../../src/lib/file-lock.ts'
import { until } from './loaded-daemon.ts'
import { daemonReports } from '../../../src/features/tokens/documents.ts'
import { openCommandWorld, type CommandWorld } from './command-world.ts'

let world: CommandWorld

beforeEach(async () => {
  world = await openCommandWorld()
})

afterEach(async () => {
  await world.instance.close()
})

describe('an unfinished rotation exits with', () => {
  it('4 if another one holds the target', async () => {
    const lock = tryLock(`${world.file}.rotation.lock`)
    const { code, out } = await world.pipespan(...world.rotate())
    expect({ code, out }).toEqual({
      code: 4,
      out: `Another rotation of file:${world.file} is running (it holds the lock beside the file). Let it finish. If it was killed, the next run takes over automatically.`,
    })
    lock?.release()
    expect(await world.pipespan(...world.rotate())).toMatchObject({ code: 0 })
  })

  it('3 if a daemon does not report the new token, and keeps the older token until it is forced', async () => {
    await world.pipespan(...world.rotate())
    const location = { engine: 'sqlite', path: path.join(world.folder, 'store', 'pipespan.db') } as const
    const store = await openStore(location, { maxSize: 1e9, parts: [], encode: sendsNothing })
    // This daemon has its token from a variable and never reads the file.
    const stuck = new Secret(await readFile(world.file, 'utf8'))
    const log = createLog({ level: 'silent', format: 'json' })
    const report = createTokenReport({
      reports: store.repositories.of(daemonReports),
      tokens: () => [stuck],
      clock: systemClock,
      log,
    })
    report.start()
    await until(async () => (await store.repositories.of(daemonReports).all()).length > 0, 'the report')

    const kept = await world.pipespan(...world.rotate('--grace', '1s'))
    expect(kept.code).toBe(3)
    expect(kept.out.replace(/\/\d+\/[0-9a-f]{8}/, '/PROCESS')).toBe(
      `The target has the new token, but the older ones stay valid: ${hostname()}/PROCESS did not report it in time. Run again when they have read it, or with --force.`,
    )
    expect(world.instance.tokens).toHaveLength(2)
    expect(await world.pipespan('tokens', 'revoke', '101')).toMatchObject({ code: 5 })
    expect(await world.pipespan(...world.rotate('--grace', '1s', '--json'))).toMatchObject({ code: 3 })

    const forced = await world.pipespan(...world.rotate('--grace', '0s', '--force'))
    expect(forced).toMatchObject({ code: 0, out: expect.stringMatching(/revoked: 101\.$/) as unknown })
    expect(world.instance.tokens).toHaveLength(1)
    await report.stop()
    await store.close()
  })

  it('3 if the store does not answer', async () => {
    await world.pipespan(...world.rotate())
    world.env.PIPESPAN_STORE_URL = 'postgres://pipespan:a-dead-token@127.0.0.1:9/pipespan'
    const { code, out, err } = await world.pipespan(...world.rotate('--grace', '0s'))
    expect(code).toBe(3)
    expect(out).toContain('the store did not report it in time')
    expect(err).toContain('Warning: the store cannot be read to see which tokens are in use')
    expect(world.instance.tokens).toHaveLength(2)
  })
})
