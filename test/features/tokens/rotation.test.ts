// Tests what an uninterrupted rotation guarantees.
import { systemClock } from '../../../src/lib/clock.ts'
import { readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Secret, fingerprintOf } from '../../../src/lib/secret.ts'
import type { ProgressPoint } from '../../../src/features/tokens/logbook.ts'
import { rotateToken } from '../../../src/features/tokens/rotation.ts'
import { planRotation } from '../../../src/features/tokens/rotation-plan.ts'
import { createMemoryStore } from './stand-ins/memory-store.ts'
import { openWorld, quickTiming, usual, type RotationWorld } from './rotation-world.ts'

let world: RotationWorld

beforeEach(async () => {
  world = closeAfterTest(await openWorld())
})

const valid = () => world.instance.tokens.map(token => token.value)
const ids = () => world.instance.tokens.map(token => String(token.id))

/** Returns the fingerprint of the token in the target's file. */
async function heldPrint(): Promise<string> {
  return fingerprintOf(new Secret((await world.held()) ?? ''))
}

describe('a token rotation', () => {
  it('writes a new token into an empty target, in a file that only its owner can read', async () => {
    const outcome = await rotateToken(world.parts(), usual)
    expect(outcome).toMatchObject({ kind: 'rotated', revoked: [], resumed: false, warnings: [] })
    expect(valid()).toEqual([await world.held()])
    expect((await stat(world.file)).mode & 0o777).toBe(0o600)
    expect((await stat(`${world.file}.rotation.json`)).mode & 0o777).toBe(0o600)
  })

  it('replaces the token in the target and revokes the previous one, in the documented order', async () => {
    await rotateToken(world.parts(), usual)
    const [former] = ids()
    const points: ProgressPoint[] = []
    const outcome = await rotateToken(world.parts({ progress: point => void points.push(point) }), usual)
    expect(outcome).toMatchObject({ kind: 'rotated', revoked: [former] })
    expect(valid()).toEqual([await world.held()])
    expect(points).toEqual(
      'creating answered created tried writing replaced written proved waiting seen revoking revoked over'.split(' '),
    )
  })

  it('keeps a valid token in the target at every step', async () => {
    await rotateToken(world.parts(), usual)
    const seen: boolean[] = []
    const progress = async () => void seen.push(await world.isHeldValid())
    await rotateToken(world.parts({ progress }), usual)
    expect(seen.length).toBeGreaterThan(10)
    expect(seen).not.toContain(false)
  })

  it('finds the ID of the new token by comparing lists if the response to its creation contains no ID', async () => {
    world = closeAfterTest(await openWorld({ hideIds: true, list: 'data', ids: 'strings' }))
    await rotateToken(world.parts(), usual)
    await rotateToken(world.parts(), usual)
    expect(valid()).toEqual([await world.held()])
  })

  it('revokes only tokens in its journal, and warns about other tokens of the same name', async () => {
    const foreign = world.instance.add('pipespan')
    const outcome = await rotateToken(world.parts(), usual)
    expect(outcome).toMatchObject({ kind: 'rotated', revoked: [], warnings: [expect.stringContaining('--adopt')] })
    expect(ids()).toContain(String(foreign.id))
  })

  it('revokes older tokens of the same name once they are adopted, but no tokens of other names', async () => {
    const former = world.instance.add('pipespan')
    const other = world.instance.add('another')
    await writeFile(world.file, former.value)
    const outcome = await rotateToken(world.parts(), { ...usual, adopt: true })
    expect(outcome).toMatchObject({ kind: 'rotated', revoked: [String(former.id)] })
    expect(new Set(valid())).toEqual(new Set([other.value, await world.held()]))
  })

  it('does not rotate a young token, but rotates it later', async () => {
    await rotateToken(world.parts(), usual)
    const before = valid()
    expect(await rotateToken(world.parts(), { ...usual, maxAgeMs: 60_000 })).toMatchObject({ kind: 'young' })
    expect(valid()).toEqual(before)
    expect(await rotateToken(world.parts(), { ...usual, maxAgeMs: 0 })).toMatchObject({ kind: 'rotated' })
    expect(valid()).not.toEqual(before)
  })

  it('rotates a token whose creation time is in the future', async () => {
    const ahead = { ...systemClock, now: () => Date.now() + 365 * 24 * 3_600_000 }
    await rotateToken(world.parts({ clock: ahead }), usual)
    expect(await rotateToken(world.parts(), { ...usual, maxAgeMs: 60_000 })).toMatchObject({ kind: 'rotated' })
  })

  it('replaces a young token that someone else has revoked', async () => {
    await rotateToken(world.parts(), usual)
    world.instance.add('another')
    world.instance.remove(ids()[0]!)
    expect(await rotateToken(world.parts(), { ...usual, maxAgeMs: 60_000 })).toMatchObject({ kind: 'rotated' })
    expect(await world.isHeldValid()).toBe(true)
  })

  it('prints the steps of a rotation in a dry run, and changes nothing', async () => {
    await rotateToken(world.parts(), usual)
    const before = [valid(), await readFile(`${world.file}.rotation.json`, 'utf8')]
    const plan = (await planRotation(world.parts(), { ...usual, graceMs: 600_000 })).join('\n')
    expect([valid(), await readFile(`${world.file}.rotation.json`, 'utf8')]).toEqual(before)
    expect(plan).toContain('Create a token named "pipespan"')
    expect(plan).toContain(`Then revoke ${ids()[0]!}`)
    expect(plan).toContain('Wait 600 s')
  })

  it('reports in a dry run that it would revoke no token if older tokens are to be kept', async () => {
    await rotateToken(world.parts(), usual)
    const plan = await planRotation(world.parts(), { ...usual, keepOlder: true })
    expect(plan.at(-1)).toBe('Leave the older tokens for the next rotation.')
    expect(plan.join('\n')).not.toContain('revoke')
  })

  it('reports in a dry run which daemons it would wait for, or that no daemon reports its token', async () => {
    await rotateToken(world.parts(), usual)
    const store = createMemoryStore()
    const waitOf = async (): Promise<string | undefined> =>
      (await planRotation(world.parts({ store }), { ...usual, graceMs: 600_000 })).find(line => line.startsWith('Wait'))
    expect(await waitOf()).toContain('there are no daemon reports')
    store.reports = () => [{ daemon: 'a', tokenFingerprint: 'older' }]
    expect(await waitOf()).toContain('Wait until a report the new token; if any does not within 600 s')
  })

  it('reports in a dry run that the current token is young', async () => {
    await rotateToken(world.parts(), usual)
    const plan = await planRotation(world.parts(), { ...usual, maxAgeMs: 60_000 })
    expect(plan.at(-1)).toContain('nothing to do')
  })

  it('reports in a dry run that a young token is replaced if the endpoint refuses it, as the rotation does', async () => {
    await rotateToken(world.parts(), usual)
    const prove = async () => Promise.resolve({ kind: 'refused', status: 401 } as const)
    const plan = await planRotation({ ...world.parts(), prove }, { ...usual, maxAgeMs: 60_000 })
    expect(plan.join('\n')).toContain('Create a token named')
  })

  it.each(['is revoked', 'stays valid until the next rotation'])(
    'reports that a refused new token %s, depending on whether another token is valid',
    async end => {
      world.instance.enforced = true
      if (end === 'is revoked') world.instance.add('other')
      const prove = async () => Promise.resolve({ kind: 'refused', status: 401 } as const)
      await expect(rotateToken({ ...world.parts(), prove }, usual)).rejects.toThrow(`the new token ${end}`)
      expect(valid()).toHaveLength(1)
    },
  )

  it('refuses to start a rotation while another rotation of the same target is running', async () => {
    await rotateToken(world.parts(), usual)
    const outcomes = await Promise.all([rotateToken(world.parts(), usual), rotateToken(world.parts(), usual)])
    expect(outcomes.map(outcome => outcome.kind).sort()).toEqual(['busy', 'rotated'])
    expect(valid()).toEqual([await world.held()])
  })

  it('never shows a token in the progress or the journal of a rotation', async () => {
    await rotateToken(world.parts(), usual)
    const first = valid()
    await rotateToken(world.parts(), usual)
    const output = await world.output()
    for (const value of [...first, ...valid()]) expect(output).not.toContain(value)
  })

  it('revokes no token of one instance because of a token ID from another instance', async () => {
    await rotateToken(world.parts(), usual)
    const other = await openWorld()
    const innocent = other.instance.add('somebody')
    expect(String(innocent.id)).toBe(ids()[0])
    const outcome = await rotateToken({ ...other.parts(), target: world.parts().target }, usual)
    expect(outcome).toMatchObject({ kind: 'rotated', revoked: [] })
    expect(other.instance.tokens).toContain(innocent)
    await other.close()
  })
})

describe('a token rotation before it revokes the older token', () => {
  it('leaves the target unchanged and revokes the new token if the endpoint rejects it', async () => {
    await rotateToken(world.parts(), usual)
    const [before, held] = [valid(), await world.held()]
    const refusing = { ...world.parts(), prove: async () => ({ kind: 'refused', status: 401 }) as const }
    await expect(rotateToken(refusing, usual)).rejects.toThrow('does not accept the new token (it responded with 401)')
    expect(valid()).toEqual(before)
    expect(await world.held()).toBe(held)
    expect(await rotateToken(world.parts(), usual)).toMatchObject({ kind: 'rotated', resumed: false })
  })

  it('waits until the endpoint accepts the new token', async () => {
    let asked = 0
    const parts = world.parts()
    const prove: typeof parts.prove = async token => {
      asked += 1
      return asked <= 2 ? { kind: 'refused', status: 401 } : await parts.prove(token)
    }
    const timing = { ...quickTiming, proofTimeoutMs: 60_000 }
    expect(await rotateToken({ ...parts, prove, timing }, usual)).toMatchObject({ kind: 'rotated' })
  })

  it('keeps the older token valid until every running daemon has reported the new token, if necessary in the next run', async () => {
    await rotateToken(world.parts(), usual)
    const [former] = ids()
    const store = createMemoryStore()
    const oldPrint = await heldPrint()
    store.reports = () => [{ daemon: 'a', tokenFingerprint: oldPrint }]
    const kept = await rotateToken(world.parts({ store }), usual)
    expect(kept).toMatchObject({ kind: 'kept', missing: ['a'] })
    expect(ids()).toContain(former)
    expect(await world.isHeldValid()).toBe(true)

    const newPrint = await heldPrint()
    store.reports = () => [{ daemon: 'a', tokenFingerprint: newPrint }]
    expect(await rotateToken(world.parts({ store }), usual)).toMatchObject({ kind: 'rotated', resumed: true })
    expect(valid()).toEqual([await world.held()])
  })

  it('ignores the token that a daemon reports for another destination', async () => {
    await rotateToken(world.parts(), usual)
    const store = createMemoryStore()
    let print = ''
    store.reports = () => [
      { daemon: 'a', tokenFingerprint: 'elsewhere' },
      { daemon: 'a', tokenFingerprint: print },
    ]
    const progress = async (point: ProgressPoint) => {
      if (point === 'waiting') print = await heldPrint()
    }
    expect(await rotateToken(world.parts({ store, progress }), usual)).toMatchObject({ kind: 'rotated' })
  })

  it('revokes the older token with --force even if a daemon has not reported the new one', async () => {
    await rotateToken(world.parts(), usual)
    const store = createMemoryStore()
    store.reports = () => [{ daemon: 'a', tokenFingerprint: 'older' }]
    const outcome = await rotateToken(world.parts({ store }), { ...usual, force: true })
    expect(outcome).toMatchObject({ kind: 'rotated', warnings: [expect.stringContaining('a report is missing: a')] })
    expect(valid()).toEqual([await world.held()])
  })

  it("keeps the older token if the store with the daemons' token reports is unreachable", async () => {
    await rotateToken(world.parts(), usual)
    const store = createMemoryStore()
    store.isAway = true
    expect(await rotateToken(world.parts({ store }), usual)).toMatchObject({ kind: 'kept', missing: ['the store'] })
  })

  it('waits for the whole grace period if no daemon can report its token', async () => {
    await rotateToken(world.parts(), usual)
    let now = Date.now()
    const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) }
    const times = new Map<ProgressPoint, number>()
    const progress = (point: ProgressPoint) => void times.set(point, now)
    await rotateToken(world.parts({ clock, progress }), { ...usual, graceMs: 600_000 })
    expect(times.get('seen')! - times.get('written')!).toBe(600_000)
  })
})

describe("the stored copy of a token rotation's journal", () => {
  it("stores a copy of the rotation's journal and the history of rotations", async () => {
    const store = createMemoryStore()
    await rotateToken(world.parts({ store }), usual)
    const journal: unknown = JSON.parse(await readFile(`${world.file}.rotation.json`, 'utf8'))
    expect(store.copies.get(`file:${world.file}`)).toEqual(journal)
    expect([...store.records.values()]).toMatchObject([{ state: 'done', tokenId: ids()[0], name: 'pipespan' }])
  })

  it('restores the journal of a rotation from the copy in the store if the journal next to the token file is lost', async () => {
    const store = createMemoryStore()
    await rotateToken(world.parts({ store }), usual)
    const [former] = ids()
    await unlink(`${world.file}.rotation.json`)
    expect(await rotateToken(world.parts({ store }), usual)).toMatchObject({ kind: 'rotated', revoked: [former] })
  })
})
