// Promises about what is leased from a queue and worked off.
import { createLeasedWork, createRests } from '../../src/enrichment/leased-work.ts'
import { expect, it } from 'vitest'
import { silentLog } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'

it('an item that becomes due again before its turn has ended gets its next turn at once, not when its lease ends', async () => {
  const due = ['a']
  const turns: string[] = []
  let underWay = 0
  let takenAgain = (): void => undefined
  const again = new Promise<void>(resolve => {
    takenAgain = resolve
  })
  const work = createLeasedWork<string>({
    name: 'test',
    queues: [
      {
        places: 2,
        take: async () => {
          const taken = due.splice(0)
          if (taken.length > 0 && underWay > 0) takenAgain()
          return taken
        },
      },
    ],
    nameOf: item => item,
    work: async item => {
      underWay += 1
      turns.push(`${item} beside ${underWay - 1}`)
      if (turns.length === 1) {
        // What is done puts it back, and the queue hands it out before this turn has ended.
        due.push(item)
        work.wake()
        await again
      }
      underWay -= 1
    },
    onError: (_, error) => turns.push(String(error)),
    extend: async () => undefined,
    rests: createRests(systemClock),
    clock: systemClock,
    log: silentLog(),
  })
  work.start()
  try {
    await expect.poll(() => turns).toEqual(['a beside 0', 'a beside 0'])
  } finally {
    await work.stop()
  }
})
