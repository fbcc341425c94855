// Whether the runner time of a job was useful or wasted. Pure.
import type { JobSnapshot } from './chunk.ts'

export type ComputePurpose = 'retried' | 'superseded' | 'failed' | 'useful'

/** The first that applies. `superseded`: its pipeline was canceled when a newer one of its ref existed already. */
export function computePurposeOf(
  { retried, status }: Pick<JobSnapshot, 'retried' | 'status'>,
  superseded: boolean,
): ComputePurpose {
  if (retried) return 'retried'
  if (status === 'canceled' && superseded) return 'superseded'
  return status === 'failed' ? 'failed' : 'useful'
}
