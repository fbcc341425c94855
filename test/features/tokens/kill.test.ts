// Tests rotations that are killed with SIGKILL and run again. They are killed during requests and at points of their progress (at every point in the
// long form; `recovery.test.ts` stops them at every point without a kill).
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { compiled } from '../../shipped.ts'
import { isFull } from '../../full.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createKubernetesTarget } from '../../../src/features/tokens/kubernetes-target.ts'
import { rotateToken } from '../../../src/features/tokens/rotation.ts'
import type { RotationParts } from '../../../src/features/tokens/rotation-session.ts'
import { startKubernetes, type KubernetesSecrets } from '../../support/kubernetes-secrets.ts'
import type { RotationOrder } from './rotating-process.ts'
import { allPoints, openWorld, usual, type RotationWorld } from './rotation-world.ts'

const points = allPoints.filter((_, at) => isFull || at % 6 === 0)

let world: RotationWorld

beforeEach(async () => {
  world = closeAfterTest(await openWorld({ hideIds: true }))
})

function start(order: Partial<RotationOrder>): ChildProcess {
  const { url, otlpUrl, apiKey } = world.instance
  const complete: RotationOrder = { url, otlpUrl, apiKey, file: world.file, ...order }
  return spawn(process.execPath, [path.join(import.meta.dirname, 'rotating-process.ts')], {
    env: { ...process.env, NODE_COMPILE_CACHE: compiled, ROTATION_ORDER: JSON.stringify(complete) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Resolves to the signal that killed the process. */
async function ended(child: ChildProcess): Promise<unknown> {
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return signal
}

/**
 * Exports like a daemon that reads the token with `read` for every request, and again after a rejection. `stop` returns how many exports were sent
 * and how many were rejected.
 */
function exportSteadily(read: () => Promise<string>): { stop(): Promise<{ sent: number; refused: number }> } {
  const stopped = new AbortController()
  const result = { sent: 0, refused: 0 }
  const run = (async () => {
    while (!stopped.signal.aborted) {
      const token = await read()
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf' }
      const response = await fetch(world.instance.otlpUrl, { method: 'POST', headers, body: new Uint8Array(0) })
      result.sent += 1
      if (!response.ok && (await read()) === token) result.refused += 1
      await systemClock.sleep(20)
    }
  })()
  return {
    stop: async () => {
      stopped.abort()
      await run
      return result
    },
  }
}

async function expectOneValidToken(parts: RotationParts, held: () => Promise<string>): Promise<void> {
  expect(await rotateToken(parts, usual)).toMatchObject({ kind: 'rotated', warnings: [] })
  expect(world.instance.tokens.map(token => token.value)).toEqual([await held()])
}

describe('rotating a file', () => {
  const held = () => readFile(world.file, 'utf8')

  it.each(points)(
    'finishes or rolls back a rotation killed at "%s" in the next run, without a rejected export',
    async point => {
      await rotateToken(world.parts(), usual)
      const daemon = exportSteadily(held)
      expect(await ended(start({ killAt: point }))).toBe('SIGKILL')
      expect(await world.isHeldValid()).toBe(true)
      await expectOneValidToken(world.parts(), held)
      const { sent, refused } = await daemon.stop()
      expect(sent).toBeGreaterThan(0)
      expect(refused).toBe(0)
    },
  )

  it.each([
    ['POST', '/tokens'],
    ['DELETE', '/tokens/'],
  ])('leaves no orphaned token if a rotation is killed before the response to %s %s', async (method, part) => {
    await rotateToken(world.parts(), usual)
    const child = start({})
    world.instance.onDone = (done, url) => {
      if (done === method && url.includes(part)) child.kill('SIGKILL')
    }
    expect(await ended(child)).toBe('SIGKILL')
    world.instance.onDone = () => undefined
    await expectOneValidToken(world.parts(), held)
  })
})

describe('rotating a Kubernetes Secret', () => {
  let kubernetes: KubernetesSecrets

  beforeEach(async () => {
    kubernetes = closeAfterTest(await startKubernetes())
  })

  it.each(['answered', 'replaced', 'revoking'].filter((_, at) => isFull || at === 1))(
    'resumes a rotation killed at "%s" once the lease has expired, without a rejected export',
    async point => {
      const { env, accountFolder } = kubernetes
      const options = { env, accountFolder, leaseMs: 300 }
      const place = { namespace: 'pipespan', secret: 'ingest', key: 'token' }
      const target = createKubernetesTarget(place, { ...options, timeoutMs: 60_000, clock: systemClock })
      const parts = world.parts({ target: { ...target, minGraceMs: 0 } })
      const held = async () => kubernetes.value('token')
      await rotateToken(parts, usual)
      const daemon = exportSteadily(held)
      expect(await ended(start({ killAt: point, kubernetes: options }))).toBe('SIGKILL')
      await expectOneValidToken(parts, held)
      expect((await daemon.stop()).refused).toBe(0)
    },
  )
})
