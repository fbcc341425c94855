// Whether the runner time of a job was useful or wasted. Pure.
import { hasFailed, wasCanceled } from './status.ts'
import type { JobSnapshot } from './chunk.ts'

export type ComputePurpose = 'retried' | 'superseded' | 'failed' | 'useful'

/** The first that applies. `superseded`: its pipeline was canceled when a newer one of its ref existed already. */
export function computePurposeOf(
  { retried, status }: Pick<JobSnapshot, 'retried' | 'status'>,
  superseded: boolean,
): ComputePurpose {
  if (retried) return 'retried'
  if (wasCanceled(status) && superseded) return 'superseded'
  return hasFailed(status) ? 'failed' : 'useful'
}
