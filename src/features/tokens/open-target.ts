// Opens a target by its address.
import type { Clock } from '../../lib/clock.ts'
import { createFileTarget } from './file-target.ts'
import { createKubernetesTarget } from './kubernetes-target.ts'
import { parseTarget, type Target } from './target.ts'

export interface TargetOptions {
  readonly clock: Clock
  /** The environment. In a pod it has the address of the Kubernetes API. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Timeout for one request to the Kubernetes API, ms. */
  readonly timeoutMs: number
}

/** Makes the target without reading it. Throws a RotationError if `text` is not the address of a target. */
export function openTarget(text: string, options: TargetOptions): Target {
  const address = parseTarget(text)
  return address.kind === 'file' ? createFileTarget(address.path) : createKubernetesTarget(address, options)
}
