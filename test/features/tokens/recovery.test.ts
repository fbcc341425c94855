// Tests how the next run recovers from an interrupted rotation, even if token lists are ambiguous or other writers have interfered.
import fc from 'fast-check'
import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import type { ProgressPoint } from '../../../src/features/tokens/logbook.ts'
import { rotateToken } from '../../../src/features/tokens/rotation.ts'
import { allPoints, openWorld, usual, type RotationWorld } from './rotation-world.ts'

let world: RotationWorld

beforeEach(async () => {
  world = closeAfterTest(await openWorld({ hideIds: true }))
})

const valid = () => world.instance.tokens.map(token => token.value)

class Stopped extends Error {}

const yesterday: Clock = { now: () => Date.now() - 86_400_000, sleep: ms => systemClock.sleep(ms) }

/** Runs a rotation that is interrupted at the given point. */
async function stopAt(point: ProgressPoint, clock: Clock = systemClock): Promise<void> {
  const progress = (reached: ProgressPoint) => {
    if (reached === point) throw new Stopped()
  }
  await expect(rotateToken(world.parts({ progress, clock }), usual)).rejects.toThrow(Stopped)
}

describe('an interrupted rotation', () => {
  it.each(['lost', 'truncated', { status: 502 }] as const)(
    'leaves no orphaned token after the next run if the creation request got no proper response (%o)',
    async how => {
      await rotateToken(world.parts(), usual)
      world.instance.misbehaveOnce('POST', '/tokens', how)
      await expect(rotateToken(world.parts(), usual)).rejects.toThrow('create an ingest token')
      await rotateToken(world.parts(), usual)
      expect(valid()).toEqual([await world.held()])
    },
  )

  it('ends an interrupted rotation at once if the creation of its token was refused', async () => {
    world.instance.misbehaveOnce('POST', '/tokens', { status: 422, body: '{"message":"too many tokens"}' })
    await expect(rotateToken(world.parts(), usual)).rejects.toThrow('too many tokens')
    const points: ProgressPoint[] = []
    await rotateToken(world.parts({ progress: point => void points.push(point) }), usual)
    expect(points).not.toContain('recovering')
  })

  it.each([
    ['an hour ahead', 3_600_000],
    ['right', 0],
  ])(
    'waits in the next run until the interrupted creation of a token has timed out, if the clock was %s',
    async (_, ahead) => {
      const start = Date.now()
      await stopAt('creating', { now: () => start + ahead, sleep: ms => systemClock.sleep(ms) })
      let now = start
      const waits: number[] = []
      const sleep = async (ms: number) => {
        waits.push(ms)
        now += ms
      }
      await rotateToken(
        { ...world.parts({ clock: { now: () => now, sleep } }), timing: { pollMs: 100, creationMs: 250 } },
        usual,
      )
      expect(waits).toEqual([100, 100, 50])
      expect(valid()).toEqual([await world.held()])
    },
  )

  it('revokes a token that appears while the next run waits for it', async () => {
    const start = Date.now()
    await stopAt('creating', { now: () => start, sleep: ms => systemClock.sleep(ms) })
    let now = start
    const sleep = async (ms: number) => {
      now += ms
      if (now - start === 200) world.instance.add('pipespan')
    }
    await rotateToken(
      { ...world.parts({ clock: { now: () => now, sleep } }), timing: { pollMs: 100, creationMs: 250 } },
      usual,
    )
    expect(valid()).toEqual([await world.held()])
    expect(world.instance.issued).toHaveLength(2)
  })

  it('revokes no token if several tokens could be the one that the rotation created', async () => {
    await stopAt('answered')
    world.instance.add('pipespan')
    const before = valid()
    const outcome = await rotateToken(world.parts(), usual)
    expect(outcome).toMatchObject({ kind: 'rotated', revoked: [] })
    expect(valid()).toEqual(expect.arrayContaining(before))
    expect(await world.output()).toContain('an earlier rotation was killed')
  })

  it('ignores tokens that were created much later than the interrupted rotation', async () => {
    world = closeAfterTest(await openWorld({ times: true }))
    await stopAt('creating', yesterday)
    const { id } = world.instance.add('pipespan')
    await rotateToken(world.parts(), usual)
    expect(world.instance.tokens.map(token => token.id)).toContain(id)
  })

  it('revokes no token if the rotation is old, other targets use the same token name, and the list has no creation times', async () => {
    world.instance.add('pipespan')
    await stopAt('creating', yesterday)
    const { id } = world.instance.add('pipespan')
    const outcome = await rotateToken(world.parts(), usual)
    expect(outcome).toMatchObject({
      warnings: expect.arrayContaining([expect.stringContaining(String(id))]) as unknown,
    })
    expect(world.instance.tokens.map(token => token.id)).toContain(id)
  })

  it('revokes the token of an old interrupted rotation if no other target uses its name, even if the list has no creation times', async () => {
    await stopAt('answered', yesterday)
    expect(await rotateToken(world.parts(), usual)).toMatchObject({ warnings: [] })
    expect(valid()).toEqual([await world.held()])
  })

  it("treats the interrupted rotation's token as an older one if the target was changed meanwhile", async () => {
    await rotateToken(world.parts(), usual)
    await stopAt('written')
    const own = world.instance.add('pipespan')
    await writeFile(world.file, own.value)
    const outcome = await rotateToken(world.parts(), usual)
    expect(outcome).toMatchObject({ kind: 'rotated', resumed: false })
    expect(new Set(valid())).toEqual(new Set([own.value, await world.held()]))
  })

  it("creates another token if the rotation's new token was revoked meanwhile", async () => {
    await rotateToken(world.parts(), usual)
    await stopAt('written')
    world.instance.remove(String(world.instance.tokens.at(-1)?.id))
    expect(await world.isHeldValid()).toBe(false)
    expect(await rotateToken(world.parts(), usual)).toMatchObject({ kind: 'rotated', resumed: false })
    expect(valid()).toEqual([await world.held()])
  })

  it('finishes an interrupted rotation in the next run even if its token is recent', async () => {
    await rotateToken(world.parts(), usual)
    await stopAt('waiting')
    expect(await rotateToken(world.parts(), { ...usual, maxAgeMs: 60_000 })).toMatchObject({ resumed: true })
    expect(valid()).toEqual([await world.held()])
  })

  it('adopts older tokens when a rotation resumes with --adopt', async () => {
    const former = world.instance.add('pipespan')
    await stopAt('written')
    const outcome = await rotateToken(world.parts(), { ...usual, adopt: true })
    expect(outcome).toMatchObject({ resumed: true, revoked: [String(former.id)] })
  })

  it("keeps the rotation's orphaned token if it is the last valid one, and revokes it in the next rotation", async () => {
    await stopAt('created')
    expect(await rotateToken(world.parts(), usual)).toMatchObject({ kind: 'rotated' })
    expect(valid()).toEqual([await world.held()])
  })

  it("says how to continue if the rotation's journal is damaged", async () => {
    await rotateToken(world.parts(), usual)
    await writeFile(`${world.file}.rotation.json`, '{"version":1')
    await expect(rotateToken(world.parts(), usual)).rejects.toThrow('delete it and rotate once with --adopt')
  })
})

describe('the creation of a token', () => {
  it('fails to create a token if several new tokens of the same name appear and cannot be told apart', async () => {
    await rotateToken(world.parts(), usual)
    const held = await world.held()
    world.instance.onDone = (method, url) => {
      if (method === 'POST' && url.endsWith('/tokens')) world.instance.add('pipespan')
    }
    await expect(rotateToken(world.parts(), usual)).rejects.toThrow('give every target a unique name')
    expect(await world.held()).toBe(held)
    expect(await world.isHeldValid()).toBe(true)
  })
})

describe('any series of rotations interrupted at any point', () => {
  const anywhere = fc.constantFrom<ProgressPoint>(...allPoints)

  it('always leaves a valid token in the target, and ends with exactly one valid token', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anywhere, { maxLength: 4 }), fc.boolean(), async (stops, hideIds) => {
        const own = await openWorld({ hideIds })
        await rotateToken(own.parts(), usual)
        for (const stop of stops) {
          const progress = async (point: ProgressPoint) => {
            expect(await own.isHeldValid()).toBe(true)
            if (point === stop) throw new Stopped()
          }
          await rotateToken(own.parts({ progress }), usual).catch((error: unknown) => {
            if (!(error instanceof Stopped)) throw error
          })
        }
        await rotateToken(own.parts(), usual)
        expect(own.instance.tokens.map(token => token.value)).toEqual([await own.held()])
        await own.close()
      }),
      { numRuns: 15 },
    )
  })
})
