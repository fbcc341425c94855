// Runs a rotation in a separate process, which kills itself at the point that its input names. `kill.test.ts` starts the process.
import { systemClock } from '../../../src/lib/clock.ts'
import { createKubernetesTarget } from '../../../src/features/tokens/kubernetes-target.ts'
import { rotateToken } from '../../../src/features/tokens/rotation.ts'
import { partsFor, usual } from './rotation-world.ts'

export interface RotationOrder {
  readonly url: string
  readonly otlpUrl: string
  readonly apiKey: string
  readonly file: string
  /** The point of progress at which the process kills itself. Undefined if the process is killed from outside or not at all. */
  readonly killAt?: string
  /** If set, rotates the Secret of the Kubernetes stand-in instead of the file. */
  readonly kubernetes?: {
    readonly env: Record<string, string>
    readonly accountFolder: string
    readonly leaseMs: number
  }
}

const order = JSON.parse(process.env.ROTATION_ORDER ?? '') as RotationOrder
const parts = partsFor(order, order.file)
const place = { namespace: 'pipespan', secret: 'ingest', key: 'token' }
const target =
  order.kubernetes === undefined
    ? parts.target
    : createKubernetesTarget(place, { ...order.kubernetes, timeoutMs: 60_000, clock: systemClock })

await rotateToken(
  {
    ...parts,
    target: { ...target, minGraceMs: 0 },
    progress: point => {
      process.stdout.write(`${point}\n`)
      if (point === order.killAt) process.kill(process.pid, 'SIGKILL')
    },
  },
  usual,
)
