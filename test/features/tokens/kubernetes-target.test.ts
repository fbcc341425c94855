// Tests a key of a Kubernetes Secret as a rotation target, with a server that imitates the requests and errors of the Kubernetes API.
import { rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { createKubernetesTarget } from '../../../src/features/tokens/kubernetes-target.ts'
import type { ProgressPoint } from '../../../src/features/tokens/logbook.ts'
import { planRotation } from '../../../src/features/tokens/rotation-plan.ts'
import { rotateToken } from '../../../src/features/tokens/rotation.ts'
import type { Target } from '../../../src/features/tokens/target.ts'
import { startKubernetes, type KubernetesSecrets } from '../../support/kubernetes-secrets.ts'
import { openWorld, usual, type RotationWorld } from './rotation-world.ts'

let world: RotationWorld
let kubernetes: KubernetesSecrets

beforeEach(async () => {
  world = closeAfterTest(await openWorld())
  kubernetes = closeAfterTest(await startKubernetes())
})

function target(clock: Clock = systemClock, leaseMs = 200): Target {
  const { env, accountFolder } = kubernetes
  const place = { namespace: 'pipespan', secret: 'ingest', key: 'token' }
  return createKubernetesTarget(place, { env, accountFolder, leaseMs, clock, timeoutMs: 60_000 })
}

/** Returns a clock on which time passes only while the rotation sleeps. */
function leapingClock(): Clock {
  let now = Date.now()
  return { now: () => now, sleep: async ms => void (now += ms) }
}

/** Returns the dependencies of a rotation, with a clock on which waiting takes no real time. */
function parts(progress?: (point: ProgressPoint) => void) {
  const clock = leapingClock()
  return world.parts({ clock, target: target(clock, 60_000), ...(progress === undefined ? {} : { progress }) })
}

const annotations = () => kubernetes.secret?.metadata.annotations ?? {}
const lease = () => Object.entries(annotations()).find(([name]) => name.includes('lease'))

describe('rotating a Secret', () => {
  it('patches one key of a Secret, stores the journal in an annotation, and releases the lease', async () => {
    kubernetes.secret!.data = { other: 'a2VwdA==' }
    await rotateToken(parts(), usual)
    await rotateToken(parts(), usual)
    expect(world.instance.tokens.map(token => token.value)).toEqual([kubernetes.value('token')])
    expect(kubernetes.value('other')).toBe('kept')
    expect(new Set(kubernetes.patchTypes)).toEqual(new Set(['application/merge-patch+json']))
    expect(lease()).toBeUndefined()
    expect(JSON.stringify(annotations())).not.toContain(kubernetes.value('token'))
    expect(Object.keys(annotations())).toEqual([expect.stringMatching(/^pipespan\/rotation-[0-9a-f]{12}$/)])
  })

  it.each([undefined, {}, { token: '' }, { token: 'Cg==' }])(
    'starts a rotation on a Secret whose data %j has no token',
    async data => {
      kubernetes.secret!.data = data
      expect((await planRotation(parts(), usual)).join('\n')).toContain('contains no token yet')
      expect(await rotateToken(parts(), usual)).toMatchObject({ kind: 'rotated' })
      expect(world.instance.tokens.map(token => token.value)).toEqual([kubernetes.value('token')])
    },
  )

  it('waits at least two minutes if no daemon reports, because mounted Secrets are updated with a delay', async () => {
    await rotateToken(parts(), usual)
    const times = new Map<ProgressPoint, number>()
    const clock = leapingClock()
    const progress = (point: ProgressPoint) => void times.set(point, clock.now())
    await rotateToken(world.parts({ clock, target: target(clock, 60_000), progress }), { ...usual, graceMs: 10_000 })
    expect(times.get('seen')! - times.get('written')!).toBe(120_000)
  })

  it('continues a rotation if the Secret changes meanwhile', async () => {
    let left = 5
    kubernetes.beforePatch = () => {
      if ((left -= 1) >= 0) kubernetes.touch()
    }
    expect(await rotateToken(parts(), usual)).toMatchObject({ kind: 'rotated' })
  })

  it('gives up on a rotation after a while if the Secret keeps changing', async () => {
    const progress = (point: ProgressPoint) => {
      if (point === 'tried') kubernetes.beforePatch = () => kubernetes.touch()
    }
    await expect(rotateToken(parts(progress), usual)).rejects.toThrow('keeps changing the Secret')
  })

  it("sends the service account's current token to the Kubernetes API", async () => {
    await rotateToken(parts(), usual)
    kubernetes.accountToken = 'renewed'
    const file = path.join(kubernetes.accountFolder, 'token')
    await writeFile(`${file}.next`, 'renewed\n')
    await rename(`${file}.next`, file)
    expect(await rotateToken(parts(), usual)).toMatchObject({ kind: 'rotated' })
  })
})

describe('concurrent rotations of a Secret', () => {
  it('finishes one of two concurrent rotations of a Secret, and reports for the other that one is already running', async () => {
    const both = [
      rotateToken(world.parts({ target: quick() }), usual),
      rotateToken(world.parts({ target: quick() }), usual),
    ]
    const kinds = (await Promise.all(both)).map(outcome => outcome.kind)
    expect(kinds.sort()).toEqual(['busy', 'rotated'])
    expect(world.instance.tokens.map(token => token.value)).toEqual([kubernetes.value('token')])
  })

  it('does not take over a lease that its holder renews', async () => {
    const time = leapingClock()
    const holder = await target(time).lock(() => undefined)
    // The clock of the process that waits for the lease. Each of its sleeps also advances the clock of the lease's holder, which then renews the lease.
    const clock: Clock = {
      ...leapingClock(),
      sleep: async ms => {
        await time.sleep(4 * ms)
        await holder.renew()
      },
    }
    const watched: string[] = []
    await expect(target(clock).lock(found => watched.push(found))).rejects.toThrow('Another rotation')
    expect(watched).toHaveLength(1)
    await holder.release()
  })

  it('takes over a lease after a minute without a renewal', async () => {
    const { env, accountFolder } = kubernetes
    const clock = leapingClock()
    const place = { namespace: 'pipespan', secret: 'ingest', key: 'token' }
    const shipped = createKubernetesTarget(place, { env, accountFolder, clock, timeoutMs: 60_000 })
    await shipped.lock(() => undefined)
    const start = clock.now()
    const heir = await shipped.lock(() => undefined)
    expect(clock.now() - start).toBe(60_000)
    await heir.release()
  })

  it("takes over a lease that is not renewed, and stops its previous holder at that holder's next step", async () => {
    const dead = await target().lock(() => undefined)
    const heir = await target().lock(() => undefined)
    await expect(dead.write(new Secret('late'))).rejects.toThrow('was taken over')
    await heir.write(new Secret('value'))
    expect(kubernetes.value('token')).toBe('value')
    await heir.release()
    expect(lease()).toBeUndefined()
  })

  it('releases the lease even if the Secret changes at the moment of the release', async () => {
    const holder = await target().lock(() => undefined)
    kubernetes.beforePatch = () => {
      kubernetes.beforePatch = () => undefined
      kubernetes.touch()
    }
    await holder.release()
    expect(lease()).toBeUndefined()
  })

  /** Returns a target whose lease is long enough that its holder renews it in time, even on a slow machine. */
  function quick(): Target {
    return { ...target(systemClock, 60_000), minGraceMs: 0 }
  }
})

describe('Kubernetes API errors', () => {
  it('names the missing Role if the Kubernetes API responds with 403', async () => {
    kubernetes.verbs = ['get']
    await expect(rotateToken(parts(), usual)).rejects.toThrow(
      // The pattern does not contain "secrets", the kind of the resource: that word is redacted if an earlier test in this process used a token that
      // occurs in it.
      /cannot patch resource .*verbs get and patch on .*resourceNames \["ingest"\]/,
    )
    expect(world.instance.tokens).toHaveLength(0)
  })

  it('says how to fix a 401 or 404 from the Kubernetes API, and an immutable Secret', async () => {
    const own = kubernetes.accountToken
    kubernetes.accountToken = 'another'
    await expect(target().peek()).rejects.toThrow('check the mount of the service account')
    kubernetes.accountToken = own
    const held = await target().lock(() => undefined)
    kubernetes.secret!.immutable = true
    await expect(held.write(new Secret('value'))).rejects.toThrow('may be immutable')
    kubernetes.secret = undefined
    await expect(target().peek()).rejects.toThrow('Create the Secret pipespan/ingest first')
  })

  it('reports that a Secret can only be rotated from within a pod', async () => {
    kubernetes.env.KUBERNETES_SERVICE_HOST = ''
    await expect(target().peek()).rejects.toThrow('needs the service account of a pod')
  })

  it('reports a Kubernetes API certificate from an unknown authority', async () => {
    await writeFile(path.join(kubernetes.accountFolder, 'ca.crt'), '')
    await expect(target().peek()).rejects.toThrow('not signed by the ca.crt of the service account')
  })
})
