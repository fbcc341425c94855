import { expect, it } from 'vitest'
import { createLoop } from '../../src/lib/loop.ts'
import { silentLog } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'

it('a loop that is stopped during a turn ends with that turn, however long its pause would be', async () => {
  let begin: () => void = () => undefined
  const begun = new Promise<void>(resolve => (begin = resolve))
  let end: () => void = () => undefined
  const ended = new Promise<void>(resolve => (end = resolve))
  const loop = createLoop({
    name: 'test',
    clock: systemClock,
    log: silentLog(),
    turn: async () => {
      begin()
      await ended
      return 3_600_000
    },
  })
  loop.start()
  await begun
  const stopped = loop.stop()
  end()
  await expect(stopped).resolves.toBeUndefined()
})
