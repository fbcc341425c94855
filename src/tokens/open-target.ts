// Opens a target by its address.
import type { Clock } from '../lib/clock.ts'
import { createFileTarget } from './file-target.ts'
import { createKubernetesTarget } from './kubernetes-target.ts'
import { parseTarget, type Target } from './target.ts'

export interface TargetOptions {
  readonly clock: Clock
  /** The environment, which in a pod has the address of the Kubernetes API. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** For one request to the Kubernetes API, ms. */
  readonly timeoutMs: number
}

/** Throws a RotationError if `text` is not the address of a target. Nothing is read yet. */
export function openTarget(text: string, options: TargetOptions): Target {
  const address = parseTarget(text)
  return address.kind === 'file' ? createFileTarget(address.path) : createKubernetesTarget(address, options)
}
